"""What Resay needs to know about languages, one file per language."""
