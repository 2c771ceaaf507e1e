"""Send verdicts to tracing tools, each through the tool's own client.

A policy names the tools in `observers`. Each client is configured as the tool documents, in the
application or by environment variables; a policy holds no keys.
"""

from __future__ import annotations

from resay_observers._observers import langfuse, langsmith, mlflow, phoenix, weave

__all__ = ["langfuse", "langsmith", "mlflow", "phoenix", "weave"]
