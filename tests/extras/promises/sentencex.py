from resay import Guard

guard = Guard({"chain": [{"method": "ngram"}], "splitter": "sentencex"})
samples = [f"It opened in 1932. It has {n} lamps." for n in (1, 2, 3)]
assert len(guard.check("It opened in 1932. It has 31 lamps.", samples=samples).sentences) == 2
