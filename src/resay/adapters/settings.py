"""Settings from YAML files and mappings, with messages that name the file and the line."""

from __future__ import annotations

from resay._internal.strict import Strict, message_of
from resay.policy.document import Document
from resay.policy.journal import SQLITE, JournalConfig, JournalContent
from resay.policy.limits import SessionLimits
from resay.policy.mapping import copy_mapping
from resay.policy.problems import problems_of
from resay.policy.yaml_reader import read_text, read_yaml

__all__ = [
    "SQLITE",
    "Document",
    "JournalConfig",
    "JournalContent",
    "SessionLimits",
    "Strict",
    "copy_mapping",
    "message_of",
    "problems_of",
    "read_text",
    "read_yaml",
]
