"""The parameters of providers' APIs, by what may be done with them."""

from __future__ import annotations

CONNECTION_PARAMS = frozenset(
    {
        "allowed_openai_params",
        "api_base",
        "api_key",
        "api_version",
        "aws_access_key_id",
        "aws_bedrock_runtime_endpoint",
        "aws_region_name",
        "aws_secret_access_key",
        "aws_session_token",
        "azure_ad_token",
        "base_url",
        "custom_llm_provider",
        "extra_headers",
        "headers",
        "organization",
    }
)
"""Parameters that determine a request's destination and account."""

# The only parameters that are also sent to another model, which may be at another provider. Any
# other parameter may be a key, a client or an address.
PARAMS_FOR_OTHER_MODELS = frozenset(
    {
        "drop_params",
        "frequency_penalty",
        "function_call",
        "functions",
        "max_completion_tokens",
        "max_tokens",
        "modalities",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "stop",
        "temperature",
        "thinking",
        "timeout",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "verbosity",
        "web_search_options",
    }
)

# A sample is another stochastic answer to the same question. These parameters would make it a copy
# of the first (`seed`), split it into chunks (`stream`), leave traces at the provider (`store`,
# `metadata`), or cost money for unused output.
MAIN_CALL_ONLY = frozenset(
    {
        "logprobs",
        "metadata",
        "n",
        "prediction",
        "seed",
        "store",
        "stream",
        "stream_options",
        "top_logprobs",
    }
)

PROVIDER_PARAMS = CONNECTION_PARAMS | PARAMS_FOR_OTHER_MODELS | MAIN_CALL_ONLY
"""All of them."""
