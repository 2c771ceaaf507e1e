"""Compares the names in a response's code with those in its samples' code: `code: names`.

A sample *contradicts* a name if it uses something else in its place: a nearly identical name
(`requests.get` for `requests.getJSON`), another package instead of an unknown one, the one name
that all samples take from the same module. If it only solves the problem in another way, it does
*not mention* the name, which is weak evidence and never flags the name alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby, islice

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.claims import Claim
from resay.core.code.blocks import Code, code_in
from resay.core.code.names import CodeLanguage, CodeName
from resay.core.code.reader import CodeReader
from resay.core.code.standard import is_standard
from resay.core.contradiction import Contradiction
from resay.core.passage import Passage
from resay.engine.state import ClaimResult
from resay.lang.tables import word_set
from resay.scorers.samples import Sample

METHOD = "code_names"
"""The method's name in verdicts."""
# Score of a sample that does without the name: by itself never enough to flag it.
_NOT_MENTIONED = 0.4
# Score of a contradicting sample if some other sample uses the name too.
_USED_BY_SOME = 0.5
# With fewer samples that have code, names get no score.
_MIN_SAMPLES = 2
# Longer lists of names are cut off, to bound the work.
_MAX_NAMES = 300
_MAX_CANDIDATES = 100
# Names at least this similar are nearly identical.
_NEAR = 0.75
_MIN_CHARS = 3
_NAME_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = lazy_pattern(r"[@\w][\w./@-]*")


@dataclass(frozen=True, slots=True)
class NameClaim(Claim):
    """The claim that code makes by using a name.

    Attributes:
        name: The name.
        code: The offset of the code that contains it.
    """

    name: CodeName | None = None
    code: int = 0

    def without_name(self) -> Claim:
        """Return the claim alone, for the verdict on it."""
        return Claim(
            text=self.text,
            start=self.start,
            end=self.end,
            unit=self.unit,
            completed_text=self.completed_text,
            sentence=self.sentence,
        )


class NameFinder:
    """Finds each name in the code of a response once, also while it grows.

    Args:
        question: The question that the response answers; names in it are not compared.
    """

    def __init__(self, question: str = "") -> None:
        self._reader = CodeReader()
        self._seen: set[tuple[object, ...]] = set()
        self._question_words = frozenset(_IDENTIFIER.findall(question.lower()))

    def read(self, code: Iterable[Code]) -> tuple[NameClaim, ...]:
        """Find the names in the next stretches of the response's code."""
        return tuple(self._read(code))

    def _read(self, codes: Iterable[Code]) -> Iterator[NameClaim]:
        for code in codes:
            for name in self._reader.read(code):
                if len(self._seen) >= _MAX_NAMES:
                    return
                key = name.kind, name.language, name.path
                if key in self._seen or is_standard(name):
                    continue
                if name.path[-1].lower() in self._question_words:
                    continue
                self._seen.add(key)
                yield NameClaim(
                    text=name.path[-1],
                    start=name.start,
                    end=name.end,
                    unit="code",
                    completed_text=name.statement,
                    sentence=code.sentence,
                    name=name,
                    code=code.start,
                )


def names_in(passage: Passage, question: str = "") -> tuple[NameClaim, ...]:
    """Find the names in the code of a whole response."""
    code = code_in(enumerate(passage.sentences), passage.unscored())
    return NameFinder(question).read(code)


@dataclass(slots=True)
class _SampleNames:
    """The names used in a sample's code.

    Attributes:
        sample: The index of the sample.
        languages: The languages of its code.
        names: The package names as written, by kind and language.
        members: All names with those that they belong to, by language.
        below: The members used of each name, by language and name.
        attributes: The members used of any name.
        words: All words of the sample.
    """

    sample: int
    languages: set[CodeLanguage] = field(default_factory=set[CodeLanguage])
    names: defaultdict[tuple[str, CodeLanguage], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    members: set[tuple[CodeLanguage, tuple[str, ...]]] = field(
        default_factory=set[tuple[CodeLanguage, tuple[str, ...]]]
    )
    below: defaultdict[tuple[CodeLanguage, tuple[str, ...]], dict[str, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    attributes: set[str] = field(default_factory=set[str])
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sample: Sample) -> _SampleNames:
        passage, reader = sample.passage, CodeReader()
        use = cls(sample.index)
        names: list[CodeName] = []
        for code in code_in(enumerate(passage.sentences), passage.unscored()):
            stop_if_abandoned()
            if code.language is not None and not code.inline:
                use.languages.add(code.language)
            names += reader.read(code)
        for name in names:
            use.languages.add(name.language)
            if name.kind in {"package", "install"}:
                use.names[name.kind, name.language].add(name.path[0])
            for end in range(1, len(name.path) + 1):
                use.members.add((name.language, name.path[:end]))
                if end > 1:
                    use.below[name.language, name.path[: end - 1]][name.path[end - 1]] = None
        use.attributes = {_bare(part) for _, path in use.members for part in path}
        use.attributes |= reader.attributes
        use.words = frozenset(_IDENTIFIER.findall(sample.text.lower()))
        return use


@dataclass(frozen=True, slots=True)
class _Index:
    """The names in the code of all samples."""

    uses: tuple[_SampleNames, ...]


def index_samples(samples: Sequence[Sample]) -> _Index:
    """Index the names in the samples' code; equal samples give equal results."""
    return _Index(tuple(map(_SampleNames.of, samples)))


def compare_names(
    names: Sequence[NameClaim], index: _Index, before: Sequence[NameClaim] = ()
) -> list[ClaimResult]:
    """Compare names with those in the samples.

    Args:
        names: The names, in order.
        index: The samples' code.
        before: The names that precede these in the response's code.

    Returns:
        The result for each; without a score if fewer than 2 samples have code in its language.
    """
    own, results = _ResponseNames(), list[ClaimResult]()
    own.add(before)
    # A streamed response's later code is unknown, so only the names up to this block count.
    for _, group in groupby(names, key=lambda claim: claim.code):
        together = list(group)
        own.add(together)
        results += [_result(c.name, index, own) for c in together if c.name is not None]
    return results


@dataclass(slots=True)
class _ResponseNames:
    """The names in the response itself, so far.

    Attributes:
        packages: Package names by kind and language.
        below: The members used of each name, by language and name.
    """

    packages: defaultdict[tuple[str, CodeLanguage], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    below: defaultdict[tuple[CodeLanguage, tuple[str, ...]], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )

    def add(self, claims: Iterable[NameClaim]) -> None:
        for claim in claims:
            name = claim.name
            if name is None:
                continue
            if name.kind in {"package", "install"}:
                self.packages[name.kind, name.language].add(name.path[0])
            for end in range(2, len(name.path) + 1):
                self.below[name.language, name.path[: end - 1]].add(_bare(name.path[end - 1]))


def _result(name: CodeName, index: _Index, own: _ResponseNames) -> ClaimResult:
    stop_if_abandoned()
    uses = [use for use in index.uses if _is_comparable(name, use)]
    if len(uses) < _MIN_SAMPLES:
        return ClaimResult(reason="fewer than 2 samples have such code to compare it with")
    columns: list[float | None] = [None] * (max(use.sample for use in index.uses) + 1)
    replacements: list[tuple[int, str]] = []
    usual = _common_member(name, uses, own)
    used = 0
    for use in uses:
        if _is_used(name, use):
            columns[use.sample] = 0.0
            used += 1
            continue
        other = _replacement(name, use, own) or (usual if usual in _below(name, use) else None)
        columns[use.sample] = _NOT_MENTIONED if other is None else 1.0
        if other is not None:
            replacements.append((use.sample, other))
    if used:
        columns = [c if c != 1.0 else max(_USED_BY_SOME, _NOT_MENTIONED) for c in columns]
    scores = [score for score in columns if score is not None]
    score = sum(scores) / len(scores)
    reason = f"{used} of {len(uses)} samples with such code use it"
    contradiction = None
    if replacements:
        most = Counter(text for _, text in replacements).most_common(1)[0][0]
        sample = next(i for i, text in replacements if text == most)
        reason += f", {len(replacements)} something else in its place: {most}"
        contradiction = Contradiction(
            source="sample",
            index=sample,
            text=most,
            kind="name",
            claim_span=(name.start, name.end),
            evidence_span=(0, len(most)),
        )
    return ClaimResult(
        score=score,
        by=METHOD,
        reason=reason,
        columns=tuple(columns),
        contradiction=contradiction,
        scores={METHOD: score},
    )


def _is_comparable(name: CodeName, use: _SampleNames) -> bool:
    """Whether a sample has code in which the name could be expected."""
    if name.kind == "install":
        return bool(use.names["install", name.language])
    if name.kind == "flag":
        return bool(use.below.get(("shell", name.path[:1])))
    return name.language in use.languages


def _is_used(name: CodeName, use: _SampleNames) -> bool:
    last = _bare(name.path[-1])
    if name.kind in {"package", "install"}:
        plain = _plain(last)
        packages = use.names["package", name.language] | use.names["install", name.language]
        return last.lower() in use.words or plain in map(_plain, packages)
    return (name.language, name.path) in use.members or last in use.attributes


def _replacement(name: CodeName, use: _SampleNames, own: _ResponseNames) -> str | None:
    """Return the name that a sample uses in the place of this one, or None."""
    last = _bare(name.path[-1])
    if name.kind in {"package", "install"}:
        if _is_known(last):
            return None
        own_packages = own.packages[name.kind, name.language]
        packages = sorted(use.names[name.kind, name.language] - own_packages)[:_MAX_CANDIDATES]
        others = [
            package
            for package in packages
            if not is_standard(CodeName("package", name.language, (package,), 0, 0))
        ]
        near = next((other for other in others if _is_near(other, last)), None)
        return near or (others[0] if others else None)
    # A nearly identical name in the same module, object or command, at the first unknown part.
    ends = range(2, len(name.path) + 1)
    end = next((e for e in ends if (name.language, name.path[:e]) not in use.members), ends[-1])
    part = replace(name, path=name.path[:end])
    taken = own.below[name.language, part.path[:-1]]
    last = _bare(part.path[-1])
    candidates = islice(_below(part, use), _MAX_CANDIDATES)
    near = next((c for c in candidates if c not in taken and _is_near(c, last)), None)
    return None if near is None else replace(part, path=(*part.path[:-1], near)).dotted


def _is_known(package: str) -> bool:
    """Whether a package, or its publisher (`@vue/test-utils`), is widely known."""
    low = package.lower()
    scope, has_scope, _ = low.partition("/")
    is_scoped = bool(has_scope) and low.startswith("@")
    return low in KNOWN or (is_scoped and scope.removeprefix("@") in KNOWN | _SCOPES)


def _below(name: CodeName, use: _SampleNames) -> list[str]:
    """Return the members a sample uses of the name's parent, as they are written."""
    return [_bare(part) for part in use.below.get((name.language, name.path[:-1]), ())]


def _common_member(name: CodeName, uses: Sequence[_SampleNames], own: _ResponseNames) -> str | None:
    """Return a member that all samples using a module take from it, and the response does not.

    Only for modules inside packages, which serve one purpose: `numpy.linalg`.
    """
    parent = name.path[:-1]
    if name.kind != "member" or len(parent) < 2 or any(part.endswith("()") for part in parent):
        return None
    members = [set(_below(name, use)) for use in uses]
    members = [of_sample for of_sample in members if of_sample]
    if len(members) < _MIN_SAMPLES or 2 * len(members) < len(uses):
        return None
    if not own.below[name.language, parent].isdisjoint(set[str].union(*members)):
        return None
    common = set[str].intersection(*members)
    return min(common) if common else None


def _words(name: str) -> list[str]:
    """Return the words of a name: `readCsv`, `read_csv`, `csv-read`."""
    return [word.lower() for word in _NAME_WORD.findall(name)]


def _bare(part: str) -> str:
    return part.removesuffix("()")


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _is_near(a: str, b: str) -> bool:
    """Whether two names are nearly identical, or consist of the same words."""
    if sorted(_words(a)) == sorted(_words(b)):
        return True
    a, b = (re.sub(r"[\W_]", "", x.lower()) for x in (a, b))
    if a == b:
        return True
    if min(len(a), len(b)) < _MIN_CHARS:
        return False
    if a.startswith(b) or b.startswith(a):
        return True
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= _NEAR


_SCOPES = word_set(
    "types babel nestjs angular aws-sdk azure google-cloud mui emotion reduxjs tanstack radix-ui"
    " storybook testing-library typescript-eslint trpc sveltejs hookform headlessui fortawesome"
)
KNOWN = word_set(
    """
    aiofiles aiohttp alembic altair anthropic arrow attrs bcrypt beautifulsoup4 black bokeh
    boto3 bs4 cachetools catboost celery certifi chardet click colorama cryptography cv2 dash
    dask datasets dateutil diffusers django djangorestframework docker docx dotenv duckdb
    elasticsearch faker fastapi feedparser flask folium fuzzywuzzy geopandas geopy gensim gevent
    google gradio graphviz grpcio gunicorn h5py httpx huggingface_hub huggingface-hub hypothesis
    imageio jax jinja2 joblib jose jwt keras kafka langchain langchain_core langchain_openai
    lightgbm litellm llama_index loguru lxml markdown marshmallow matplotlib mistune mlflow
    moviepy mypy mysql networkx nltk numba numpy openai opencv-python openpyxl optuna orjson
    pandas paramiko passlib peft pendulum pika pil pillow playwright plotly polars prophet
    psutil psycopg psycopg2 psycopg2-binary pyarrow pycryptodome pydantic pydub pygame pyjwt
    pymongo pymysql pymupdf fitz pypdf pypdf2 pyspark pytest python-dateutil python-docx
    python-dotenv python-multipart pytz pyyaml pywin32 qrcode ray rapidfuzz redis regex
    reportlab requests rich ruff sanic scapy scikit-image scikit-learn scipy scrapy seaborn
    selenium sentence-transformers sentence_transformers sentencepiece shapely six sklearn
    skimage slack_sdk spacy sqlalchemy sqlmodel starlette statsmodels streamlit stripe sympy
    tabulate telegram tenacity tensorflow textual tiktoken toml torch torchaudio torchvision
    tornado tqdm transformers trio twilio typer ujson urllib3 uvicorn uvloop validators watchdog
    websocket websockets werkzeug wordcloud xgboost xlsxwriter xmltodict yaml yfinance

    @nestjs/common @nestjs/core @types/node @types/react @testing-library/react
    @tanstack/react-query angular axios babel bcryptjs body-parser chalk chart.js cheerio
    classnames clsx commander cookie-parser cors cross-env d3 date-fns dayjs electron eslint
    ethers express express-validator fastify formik framer-motion fs-extra got graphql helmet
    immer inquirer ioredis jest jquery jsdom jsonwebtoken knex koa lodash luxon mocha moment
    mongodb mongoose morgan multer mysql2 next next-auth node-fetch nodemailer nodemon openai
    p-limit passport pg pino postcss prettier prisma prop-types puppeteer query-string ramda
    react react-dom react-hook-form react-native react-redux react-router react-router-dom redis
    redux rimraf rollup rxjs sass semver sequelize sharp socket.io sqlite3 styled-components
    supertest svelte swr tailwindcss three ts-node tslib typeorm typescript undici uuid
    validator vite vitest vue vue-router webpack winston ws xml2js yargs yup zod zustand

    actix-web anyhow async-std async-trait axum base64 bincode bytes chrono clap crossbeam csv
    dashmap diesel env_logger futures hyper indexmap itertools lazy_static log nom num-traits
    once_cell parking_lot rand rayon regex reqwest ring rocket rusqlite rustls serde serde_json
    serde_yaml sha2 sqlx tempfile thiserror time tokio toml tonic tower tower-http tracing
    tracing-subscriber url uuid walkdir warp

    github.com/gin-gonic/gin github.com/gorilla/mux github.com/sirupsen/logrus
    github.com/spf13/cobra github.com/spf13/viper github.com/stretchr/testify
    github.com/google/uuid github.com/labstack/echo github.com/go-chi/chi
    github.com/jmoiron/sqlx github.com/lib/pq gorm.io/gorm go.uber.org/zap golang.org/x/sync
    github.com/pkg/errors

    com.fasterxml com.google org.apache org.springframework org.slf4j org.junit org.json
    org.hibernate lombok okhttp3 jakarta newtonsoft.json microsoft.entityframeworkcore serilog
    automapper dapper rails sinatra nokogiri rspec sidekiq puma httparty faraday devise pry
    rubocop activerecord
    """
)
"""Widely known packages. Samples that use another package do not speak against them. This is not a
list of existing packages: the others are compared, not doubted."""
