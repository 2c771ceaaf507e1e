"""Published benchmarks and their result tables.

Each benchmark reads public data that is not part of Resay, runs the scorers as any user would, and
shows its figures next to those that the method's authors published.
"""
