"""Names in code: what it imports, installs and calls of others, to be compared across samples.

A model that invents a package, or a function of one, rarely invents it twice. `CodeReader` finds
the names that code uses of others: imported packages and what is imported from them, what is
called on them (also on what their calls return), packages that are installed, flags of commands.
What the code defines itself, and what belongs to the language or its standard library, is left
out.

Nothing is executed or parsed as a program: answers hold fragments, and text that only looks like
code. The code is cut into tokens, which are read once, in time linear in its length. Python,
JavaScript and TypeScript, Java, Go, Rust, C#, Ruby and shells are read.
"""

from resay.core.code_names.code import Code, CodeName, Language, code_in
from resay.core.code_names.walk import CodeReader, is_standard

__all__ = ["Code", "CodeName", "CodeReader", "Language", "code_in", "is_standard"]
