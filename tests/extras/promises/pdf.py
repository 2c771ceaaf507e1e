from pypdf import PdfWriter

from resay.retrieval import index_folder

writer = PdfWriter()
writer.add_blank_page(100, 100)
writer.write("scanned.pdf")
(skipped,) = index_folder(".").skipped
assert "scan" in skipped.reason, skipped.reason
