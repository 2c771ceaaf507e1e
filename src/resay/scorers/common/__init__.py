"""Code shared by methods: comparing with samples, asking judges, parsing their answers."""
