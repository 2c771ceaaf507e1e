"""Published benchmarks with their tables.

Each benchmark reads public data that is not part of Resay, runs the scorers as any user of theirs
would, and puts what it measured beside what the method's authors published.
"""
