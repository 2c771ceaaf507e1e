"""Sentences and responses that claim nothing, so that there is nothing to check."""

from resay.core.non_claims.responses import ResponseKind, nothing_to_check, says_anything
from resay.core.non_claims.sentences import NonClaim, non_claim_kind

__all__ = ["NonClaim", "ResponseKind", "non_claim_kind", "nothing_to_check", "says_anything"]
