"""What methods share: comparing with samples, asking judges, reading their answers."""
