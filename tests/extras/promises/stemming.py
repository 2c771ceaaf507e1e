from pathlib import Path

from resay.retrieval import index_folder

Path("bruecken.txt").write_text("Die Brücken wurden von der Stadt gebaut.", encoding="utf-8")
assert index_folder(".", language="de").documents == 1
