"""The OpenAPI 3.1 document of the gateway's endpoints."""
