"""Texts that try to talk a judge into a verdict, judges that fall for them, and what flips."""
