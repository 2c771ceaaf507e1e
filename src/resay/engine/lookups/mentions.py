"""What an answer names that can be looked up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urlsplit

from resay._internal.patterns import lazy_pattern
from resay.core.code.blocks import Code, code_in
from resay.core.code.reader import CodeReader
from resay.core.links import addresses_in, normal_link
from resay.core.passage import Passage
from resay.core.segmentation.spans import blanked
from resay.policy.lookups import LookupsConfig

MentionKind = Literal["package", "link", "doi"]

_REGISTRY_OF = {"python": "pypi", "javascript": "npm"}
# A name that the reader of an answer is to replace: `pip install your-package`.
_PLACEHOLDER = lazy_pattern(
    r"(?:your|my|some|example)[-_.].*|.*package[-_.]?name.*|(?:package|module|library|name|foo|bar)",
    re.IGNORECASE,
)
_FILE = lazy_pattern(r".*\.(?:whl|zip|tar|gz|tgz|txt|toml|json)", re.IGNORECASE)
# An installation from elsewhere than the registry.
_ELSEWHERE = lazy_pattern(r"--(?:extra-)?index-url|--find-links|--registry|--git|--path|\s-[if]\s")
_LINK = lazy_pattern(r"(?:https?://|www\.)[^\s<>()\[\]\"'“”«»|\\^`{}…]{3,400}", re.IGNORECASE)
_PARENTHESES = lazy_pattern(r"\([^\s()]{1,100}\)[^\s<>()\[\]\"'“”«»|\\^`{}]{0,100}")
_DOI = lazy_pattern(r"\b10\.\d{4,9}/[^\s<>\"'“”«»{}|\\^`]{1,200}")
_DOI_HOSTS = ("doi.org", "dx.doi.org", "www.doi.org")
_AFTER = ".,;:!?*_~"
_PUNCTUATION = (".", ",", ";", ":", "!", "?")
# What follows a link that is only the beginning of one, or a pattern of one.
_GOES_ON = ("{", "<", "[", "…", "$")
_RESERVED = lazy_pattern(
    r"(?:.*\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost|local|internal)"
)
_MAX_PATH = 200
# That of npm. What is longer is no package, and may be anything else.
_MAX_PACKAGE = 214


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in an answer that can be looked up.

    Attributes:
        kind: What it is.
        source: Where it is looked up: `pypi`, `npm`, `link` or `crossref`.
        name: The name, as it is looked up.
        start: Its start in the answer, in code points.
        end: Its end (exclusive).
    """

    kind: MentionKind
    source: str
    name: str
    start: int
    end: int


def mentions_in(passage: Passage, config: LookupsConfig, context: str) -> list[Mention]:
    """Find what is to be looked up in an answer, each name once, in order.

    Args:
        passage: The answer.
        config: What is looked up.
        context: The conversation. Links in it are no inventions, and may do something when they are
            opened.
    """
    codes = code_in(enumerate(passage.sentences), passage.unscored())
    mentions: list[Mention] = []
    if config.packages:
        mentions += _packages(passage.text, codes, config.packages)
    spans = [(code.start, code.start + len(code.text)) for code in codes]
    prose = blanked(passage.text, spans)
    if config.doi:
        mentions += _dois(prose)
    if config.links != "none":
        dois = [mention for mention in mentions if mention.kind == "doi"]
        mentions += _links(prose, config, addresses_in(context), dois)
    by_name: dict[tuple[str, str], Mention] = {}
    for mention in sorted(mentions, key=lambda each: each.start):
        if not _is_known(mention, config.known):
            by_name.setdefault((mention.source, mention.name), mention)
    return list(by_name.values())


def _packages(text: str, codes: Iterable[Code], registries: Collection[str]) -> Iterator[Mention]:
    reader = CodeReader()
    # By the start of the line, which may name thousands of packages.
    is_from_elsewhere: dict[int, bool] = {}
    for code in codes:
        for name in reader.read(code):
            registry = _REGISTRY_OF.get(name.language, "")
            if name.kind != "install" or registry not in registries:
                continue
            package = name.path[0]
            if len(package) > _MAX_PACKAGE:
                continue
            if _PLACEHOLDER.fullmatch(package) or _FILE.fullmatch(package):
                continue
            start = text.rfind("\n", 0, name.start) + 1
            if start not in is_from_elsewhere:
                end = text.find("\n", start)
                line = text[start : len(text) if end < 0 else end]
                is_from_elsewhere[start] = _ELSEWHERE.search(line) is not None
            if not is_from_elsewhere[start]:
                yield Mention("package", registry, package, name.start, name.end)


def _dois(prose: str) -> Iterator[Mention]:
    for match in _DOI.finditer(prose):
        doi = match[0].rstrip(_AFTER)
        # A closing bracket belongs to the sentence, unless it closes one of the DOI.
        while doi.endswith((")", "]")) and doi.count("(") < doi.count(")") + doi.count("]"):
            doi = doi[:-1].rstrip(_AFTER)
        if prose[match.end() : match.end() + 1] in _GOES_ON:
            continue
        yield Mention("doi", "crossref", doi, match.start(), match.start() + len(doi))


def _links(
    prose: str, config: LookupsConfig, given: Collection[str], dois: Collection[Mention]
) -> Iterator[Mention]:
    for match in _LINK.finditer(prose):
        written, end = match[0], match.end()
        parentheses = _PARENTHESES.match(prose, end)
        if parentheses is not None and not written.endswith(_PUNCTUATION):
            written, end = written + parentheses[0], parentheses.end()
        if prose[end : end + 1] in _GOES_ON or written.endswith(("..", "*")):
            continue
        link = written.rstrip(_AFTER)
        url = link if "://" in link else f"https://{link}"
        try:
            parts = urlsplit(url)
        # A host with characters that stand for marks of a URL, such as a full-width slash.
        except ValueError:
            continue
        host = (parts.hostname or "").lower()
        if host in _DOI_HOSTS and any(match.start() <= doi.start < end for doi in dois):
            continue
        if _RESERVED.fullmatch(host) or "@" in parts.netloc or "." not in host:
            continue
        # What a prompt injection may have put there is not sent.
        if parts.query or len(parts.path) > _MAX_PATH:
            continue
        if not any(fnmatchcase(host, pattern.lower()) for pattern in config.hosts):
            continue
        if normal_link(link) in given:
            continue
        name = url.partition("#")[0]
        yield Mention("link", "link", name, match.start(), match.start() + len(link))


def _is_known(mention: Mention, known: Collection[str]) -> bool:
    names = [mention.name.lower()]
    if mention.kind == "link":
        names.append((urlsplit(mention.name).hostname or "").lower())
    return any(fnmatchcase(name, pattern.lower()) for name in names for pattern in known)
