"""Bringing the published data sets from their homes.

What each home offers, and how that is known:

- `wikibio`: `dataset.json` of the authors' Hugging Face data set, at the revision that brought it
  to 238 passages. The columns are those of the data card; that the file is one JSON list of rows
  is what the authors' README and programs that read it say. It does not name the person each
  passage is about (those names are in WikiBio's own titles), so the files made from it have no
  `concept` and no `prompt`.
- `phd`: two files of the authors' GitHub repository, each at a commit that holds it. The
  benchmark itself holds three lists, one for each domain; the samples are with the authors'
  BERTScore experiment, as one list in the same order. Both were looked into: their beginnings,
  where one domain meets the next, and the end of the second.
- `shroom`: the validation archive that the shared task's page links to. Its members' names are
  those that participants' programs open, its columns those its own README describes.

Not tried on the homes themselves: that `wikibio` answers with a list, and that Google Drive hands
out the archive without a question in between. Whatever comes back is validated row by row and
counted, so another shape ends in an error and never in a file.
"""
