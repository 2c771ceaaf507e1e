"""Text segmentation: the boundaries of blocks, and of the sentences in them.

All offsets are in code points, and everything takes time linear in the length of the text, for any
text.
"""
