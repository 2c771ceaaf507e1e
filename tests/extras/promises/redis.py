from resay import Guard

# A store that cannot be reached costs no answer.
cache = {"store": "redis", "url": "redis://127.0.0.1:9"}
guard = Guard({"chain": [{"method": "ngram"}], "cache": cache})
samples = [f"It has {n} lamps." for n in (1, 2, 3)]
assert guard.check("It has 31 lamps.", samples=samples).score is not None
