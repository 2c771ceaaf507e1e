import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet

rows = [
    {
        "response": f"The bridge opened in 1932. It has {lamps} lamps.",
        "samples": [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)],
    }
    for lamps in range(100, 160)
]
pa.parquet.write_table(pa.Table.from_pylist(rows), "in.parquet")
words = ["batch", "in.parquet", "--out", "out.parquet", "--method", "ngram", "--workers", "2"]
done = subprocess.run(
    [sys.executable, "-I", "-m", "resay", *words], capture_output=True, text=True, check=False
)
assert done.returncode == 0, done.stderr
found = pa.parquet.read_table("out.parquet").to_pylist()
assert [row["response"] for row in found] == [row["response"] for row in rows]
assert {row["decision"] for row in found} == {"flagged"}, found[0]
words = ["report", "out.parquet", "--html", "out.html"]
assert subprocess.run([sys.executable, "-I", "-m", "resay", *words], check=False).returncode == 0
