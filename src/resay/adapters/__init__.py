"""Code shared by the framework adapters. Not needed by applications."""
