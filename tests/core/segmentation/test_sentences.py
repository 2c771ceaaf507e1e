from __future__ import annotations

import json
from pathlib import Path

import pytest

from resay import Passage
from resay.core.segmentation.choices import Splitter

# A bar stands where a sentence ends. The rules were written with the first list in view, and the
# second list was written after the rules.
TRICKY = {
    "abbreviations": "Dr. Smith met Mr. Jones at 5 p.m. on Monday. │They spoke.",
    "country": "He moved to the U.S. in 1990. │She stayed in the U.S. │They met later.",
    "country before a name": "The U.S. Senate voted. │It passed.",
    "decimals": "Pi is 3.14159. │The U.K. GDP grew 2.5% in Q1. │Version 2.0.1 shipped.",
    "quotes": '"I disagree!" she said. │"We should go." │He left.',
    "quoted question": 'She asked, "Are you sure?" and left. │Nobody replied.',
    "ellipsis": "Well... I think so. │Maybe not.",
    "initials": "J. R. R. Tolkien wrote it. │He was born in Bloemfontein.",
    "e.g.": "Use fruit, e.g. apples, i.e. fresh ones. │See Fig. 3 and Sec. 2.1 for more.",
    "etc.": "We sell nuts, bolts, etc. │Shipping is free.",
    "Inc.": "Apple Inc. was founded in 1976. │Steve Jobs Jr. was not real.",
    "addresses": "See https://a.example.com/x.html?y=1. │Email me at a.b@c.org. │Thanks!",
    "numbered": "Steps:\n│1. Open the file.\n│2. Read it.\n│3. Close it.",
    "bullets": "The causes are:\n\n│- Heat loss\n│- Poor insulation\n│- Old windows\n\n│Fix them.",
    "headings": (
        "## Summary\n\n│The bridge opened in 1932. │It is steel.\n\n"
        "│## Details\n\n│It weighs 39,000 tons."
    ),
    "code": (
        "Run this:\n\n│```python\nx = foo.bar()  # a. b. c.\nprint(x)\n```\n\n│It prints 3. │Done."
    ),
    "table": (
        "| City | Pop. |\n|---|---|\n│| Paris | 2.1M |\n│| Rome | 2.8M |\n\n│Paris is smaller."
    ),
    "bold": "**Born:** 3 May 1950. │**Died:** never. │He is *alive*.",
    "no space": "This is one.│This is two. │Node.js is fine.",
    "citations": "Water boils at 100 °C.[1] │It freezes at 0 °C.[2] │Ice floats.",
    "Chinese": "悉尼海港大桥于1932年开放。│它由约翰·布拉德菲尔德设计！│真的吗？│是的。",
    "Chinese quotation": "他说：“我不同意。”│然后离开了。",
    "Japanese": "橋は1932年に開通した。│長さは1149メートルです。│「本当？」と彼は聞いた。",
    "German": "Am 3. Mai 1950 wurde er z.B. in Berlin geboren. │Er lebt noch.",
    "Danish": "Toget går kl. 18.30 fra Aarhus. │Det er sent. │Mødet er kl. 14:00.",
    "Spanish": "¿Quién es el Sr. García? │¡No lo sé! │Nació en 1950.",
    "Hindi": "पुल 1932 में खुला। │यह स्टील का है।",
    "Arabic": "افتتح الجسر عام 1932. │هل هذا صحيح؟ │نعم.",
    "emoji": "Great 😀! │It works 👍🏽. │Done.",
    "parenthesis goes on": "It failed (see No. 4.) and was fixed. │Good.",
    "superscript": "The lake is deep.¹ │It is cold.² │Nobody swims.",
    "street": "Dr. Müller wohnt in der Hauptstr. 5. │Er ist Arzt.",
    "emoji without space": "What a day!🎉 │It was fun.",
    "acronym like an abbreviation": "He played CF. │She was diagnosed with MS. │It was hard.",
    "ordinal in English": "He played in the 2. Bundesliga. │Then he left.",
}

UNSEEN = {
    "firm": "The firm was founded by J. P. Morgan. │It moved to Washington, D.C. in 1912.",
    "ranks": "Lt. Col. James R. Brown served in the U.S. Army. │He retired to Ft. Lauderdale.",
    "degree": "He earned a Ph.D. in physics from MIT. │Prof. Lee supervised it.",
    "time zone": "It airs at 9 p.m. EST on Fridays. │Reruns air at 3 a.m. │The network is happy.",
    "era": "The war lasted from 431 B.C. to 404 B.C. │Athens lost.",
    "comma in quotation": 'Is it true? │"Yes," she said, "it is." │He nodded.',
    "attributed question": '"Who is there?" Anna Smith asked. │Nobody answered.',
    "quoted exclamation": 'He shouted "Stop!" and ran. │They stopped.',
    "stop inside parenthesis": "The album (released in 1999.) sold well. │It won an award.",
    "pages": "See pp. 12–15 of vol. 3 for details. │Eq. 4 is derived there.",
    "exclaiming company": "I work at Yahoo! Inc. in Sunnyvale. │It is fine.",
    "vitamin": "He takes vitamin C. │Oranges contain it.",
    "war": "He fought in World War I. │Germany lost.",
    "pronoun I": "So am I. │John agreed.",
    "money": "The price is $3.50. │That is 20% off.",
    "versions": "Use Python 3.12.1. │It is faster than 3.11.",
    "file names": "Edit config.yaml. │Then run main.py. │Finally, open README.md.",
    "products": "ASP.NET and Node.js are frameworks. │Vue.js too.",
    "company in parentheses": "The company (Foo Ltd.) was sold. │Nobody cared.",
    "one-character ellipsis": "He paused … then went on. │She left.",
    "omission": 'It reads: "To be [...] That is the question." │It is famous.',
    "adjacent citations": "Rain fell.[3][4] │Snow followed.[citation needed] │Wind too.",
    "spaced citation": "The claim holds. [12] │Others differ. [3, 4] │Fin.",
    "linked citation": "It is tall.[1](https://a.example/b.c) │It is old.【4†source】 │Fin.",
    "German millions": "Es gibt ca. 80 Mio. Einwohner. │Das ist viel.",
    "German ordinals": "Der 2. Weltkrieg endete 1945. │Im 19. Jh. war alles anders.",
    "German spaced": "Sie kommt z. B. aus Köln, d. h. aus Deutschland. │Er nicht.",
    "Spanish page": "Vino la Sra. López. │¿Cuándo? │¡Ayer! │Véase la pág. 4.",
    "French quotation": "M. Dupont est là. │Il a dit : « Bonjour. » │Puis il est parti.",
    "Russian initials": "А. С. Пушкин родился в Москве. │Он был поэтом.",
    "Chinese asked": "北京是首都！│它有2100万人口。│“真的吗？”他问。",
    "Japanese quotation": "彼は「はい。」と答えた。│そして帰った。",
    "Korean": "이것은 문장입니다. │두 번째 문장입니다. │질문인가요?",
    "danda": "राम घर गया। │क्या वह आया? │हाँ॥",
    "Urdu": "یہ کتاب ہے۔ │وہ قلم ہے۔",
    "Armenian": "Սա նախադասություն է։ │Սա երկրորդն է։",
    "Ethiopic": "ይህ ዓረፍተ ነገር ነው። │ሁለተኛው ነው።",
    "Thai": (
        "สวัสดีครับ │สุนทรภู่เกิดเมื่อปี พ.ศ. 2329 ในรัชกาลที่ 1 │เขาเป็นกวีเอกของประเทศไทย │"
        "ผลงานที่มีชื่อเสียงที่สุดของเขาคือพระอภัยมณี"
    ),
    "Thai phrases": (
        "ประเทศไทยมีจังหวัดต่าง ๆ เช่น เชียงใหม่ ลำพูน และ เชียงราย ครับ │"
        "เมื่อเขาเดินทางมาถึงกรุงเทพมหานคร เขาพบว่าบ้านของเขาถูกไฟไหม้"
    ),
    "Thai stops": "กรุงเทพเป็นเมืองหลวง. │เชียงใหม่อยู่ทางเหนือ. │คุณรู้ไหม?",
    "Lao": "ວຽງຈັນເປັນນະຄອນຫຼວງຂອງປະເທດລາວ │ນອກຈາກນີ້ຍັງມີວັດວາອາຮາມຫຼາຍແຫ່ງ",
    "Khmer": "ភ្នំពេញជារាជធានី។ │ផ្លែឈើ ដូចជា ស្វាយ ចេក ។ល។ │មានច្រើន។│វានៅមាត់ទន្លេ៕",
    "Burmese": "နေပြည်တော်သည် မြို့တော်ဖြစ်သည်။ │၂၀၀၅ တွင်၊ တည်ထောင်ခဲ့သည်။│ကြီးသည်။",
    "Greek": "Είναι εδώ ο κ. Νίκος; │Είπε: «Έρχεσαι;» │Μετά έφυγε· ναι; ναι. │Π.χ. Αθήνα.",
    "Arabic titles": "قال أ. د. محمد ذلك. │كانت سنة 1946 م. │وعاش طويلا.",
    "Hebrew initials": "א. ב. יהושע היה סופר. │הוא נולד ב-1936. │מה שמו?",
    "Hindi titles": "डॉ. ए. पी. जे. अब्दुल कलाम राष्ट्रपति थे। │वे वैज्ञानिक थे।",
    "Persian": "تهران پایتخت است. │آیا بزرگ است؟ │بله، می‌شود گفت.",
    "no space before a pronoun": "He moved to London.│He stayed there. │It rained.",
    "lower case throughout": "the sky is blue. │it is e.g. big. │nope",
    "camel case": "iPhone sales grew. │iPad sales fell. │eBay was flat.",
    "junior": "Robert Downey Jr. starred in it. │He won.",
    "number one": 'The No. 1 song was "Hey Ya!" by OutKast. │It sold well.',
    "no": "The answer is no. │The question was odd.",
    "run-in list": "Options: 1. Stay home. │2. Go out. │Both work.",
    "saint and street": "St. Louis is on the river. │We met on Main St. │The bar was closed.",
    "et al.": "Smith et al. (2020) showed this. │See Lee et al. │The rest is noise.",
    "middle initials": "Samuel L. Jackson and Michael J. Fox met. │George W. Bush did not.",
    "code span": "Use `foo.bar(). Baz` here. │`qux` is next. │Done.",
    "months": "Born Jan. 5, 1960, he left in Dec. │By Sept. the house was sold.",
    "circa": "The emperor (r. 117–138) ruled. │Dates (c. 1200) vary.",
    "versus": "Mr. Smith vs. Mrs. Jones was heard. │The case closed.",
    "chief": "Apple Inc. CEO Tim Cook spoke. │He smiled.",
    "mixed marks": "Really?! │Yes!!! │OK...",
    "sentence in parentheses": "It cost 5 million. │(Sources differ.) │Nobody knows.",
    "quotation of two sentences": 'He said: "I was there. │I saw it." │Then he left.',
    "soft wrap": "The tower is\n324 m tall. │It stands\nin Paris.",
    "title with a year": "She starred in Mamma Mia! (2008) and in Oliver! (1968). │Both sold.",
}


@pytest.mark.parametrize("marked", [*TRICKY.values(), *UNSEEN.values()], ids=[*TRICKY, *UNSEEN])
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    pieces = Passage.of(marked.replace("│", "")).pieces
    assert "│".join(piece.text for piece in pieces) == marked


@pytest.mark.parametrize(
    "text",
    [
        "Take a.b.c and go",
        "He left . . . and came back",
        "“The  (“. ",
        "Rated 4.5/5 by A.J. in the N.Y. Times",
        "!",
        ".",
        "A.",
        "1.",
        "…",
    ],
)
def test_abbreviations_and_the_like_end_no_sentence(text: str) -> None:
    assert len(Passage.of(text).pieces) == 1


def test_a_stop_without_letters_around_it_makes_no_sentence() -> None:
    passage = Passage.of("Great! 😀 ... !!")
    assert [sentence.text for sentence in passage.sentences] == ["Great! 😀 ... !!"]


def test_an_abbreviation_at_the_end_of_a_block_ends_there() -> None:
    passage = Passage.of("He met Dr.\n\nSmith left.")
    assert [sentence.text for sentence in passage.sentences] == ["He met Dr.", "Smith left."]


def test_code_spans_need_a_partner_to_hide_a_stop() -> None:
    passage = Passage.of("The ` key is here. ``He said.'' It is ``big.'' Fine.")
    assert [sentence.text for sentence in passage.sentences] == [
        "The ` key is here.",
        "``He said.''",
        "It is ``big.''",
        "Fine.",
    ]


def starts(passage: Passage) -> set[int]:
    return {sentence.start for sentence in passage.sentences[1:]}


@pytest.mark.parametrize(("splitter", "floor"), [("builtin", 0.99), ("sentencex", 0.98)])
def test_wikibio_is_split_as_its_authors_split_it(
    data_dir: Path, splitter: Splitter, floor: float
) -> None:
    if splitter == "sentencex":
        pytest.importorskip("sentencex")
    agreed = ours = theirs = 0
    for line in (data_dir / "wikibio_gpt3.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        gold = Passage.from_sentences(row["sentences"], text=row["passage"])
        # The authors dropped what GPT-3 left unfinished at the end.
        finished = gold.sentences[-1].end
        found = {at for at in starts(Passage.of(gold.text, splitter=splitter)) if at < finished}
        agreed += len(found & starts(gold))
        ours += len(found)
        theirs += len(starts(gold))
    assert 2 * agreed / (ours + theirs) > floor
