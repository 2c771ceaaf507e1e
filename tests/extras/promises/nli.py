from resay import Guard

guard = Guard({"chain": [{"method": "nli", "model": "./tiny"}]})
verdict = guard.check("It has 31 lamps.", samples=[f"It has {n} lamps." for n in (1, 2, 3)])
assert verdict.score is not None, verdict.reason
