from __future__ import annotations

from performance import folder


def test_every_part_has_a_row_for_both_sizes():
    table = folder.run(200)
    assert [(row["part"], row["documents"]) for row in table.rows] == [
        (part, count)
        for count in (100, 200)
        for part in (
            "index, stems alone",
            "index, a file each",
            "index, 50 to a file",
            "search",
            "search with a filter",
        )
    ]
    assert all(row["ours_ms"] > 0 and row["ratio"] > 0 for row in table.rows)
