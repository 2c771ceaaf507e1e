import asyncio
from pathlib import Path

from resay.retrieval import FolderRetriever, index_folder

bridges = Path("bridges")
bridges.mkdir()
(bridges / "brücken.txt").write_text("Die Brücken wurden von der Stadt gebaut.", encoding="utf-8")
assert index_folder(bridges, language="de").documents == 1
found = asyncio.run(FolderRetriever(bridges, language="de").retrieve("Wer baute die Brücke?", k=1))
assert len(found) == 1
