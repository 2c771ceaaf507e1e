from resay import Guard

cache = {"store": "sqlite", "path": "kept.db"}
guard = Guard({"chain": [{"method": "ngram"}], "cache": cache})
samples = [f"It has {n} lamps." for n in (1, 2, 3)]
assert guard.check("It has 31 lamps.", samples=samples).score is not None
