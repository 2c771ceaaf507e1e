"""The words by which judges state verdicts, in English and the languages they slip into."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final, Literal

from resay.scorers.common.choices import Choices, fold, meanings, phrases

JudgeVerdict = Literal["supported", "contradicted", "not_mentioned"]
"""A judge's verdict on a claim and a text."""

_YES = """yes oui ja sí sì sim evet tak ano áno da да так kyllä jah igen ναι כן نعم بله हाँ हां có
ya vâng 是 是的 对 對 对的 有 支持 はい 예 네 ใช่"""
_NO = """no non nein nee nej nei não hayır nie ne нет ні ei nem nu όχι לא لا خیر नहीं không tidak
否 不 不是 不对 不對 没有 沒有 不支持 いいえ 아니요 아니오 아니 ไม่ใช่ ไม่"""
# Short words that mean the opposite, or something else, in another language ("ne", "nu", "da")
# count only if they are the whole answer.
_AMBIGUOUS = frozenset(["ano", "da", "ei", "ne", "nem", "nie", "non", "nu", "tak", "ya"])


def _yes_or_no() -> Mapping[str, bool]:
    words: dict[str, bool] = {}
    for listed, meaning in ((_YES, True), (_NO, False)):
        words.update((_composed(word), meaning) for word in listed.split())
    return words


def _composed(word: str) -> str:
    return unicodedata.normalize("NFC", fold(word))


YES_OR_NO: Final = _yes_or_no()
"""What each word for yes or no means, in lower case."""

CLEAR_YES_OR_NO: Final = {w: v for w, v in YES_OR_NO.items() if w not in _AMBIGUOUS}
"""Those that mean the same in every language."""

_SUPPORTED = tuple(
    phrases(
        "supported, supports, support, fully supported, clearly supported, directly supported",
        "is supported, entailed, entails, entail, entailment, implied, confirmed, confirms",
        "confirm, consistent, verified, verifies, true, correct, accurate, agrees, agree, agreed",
        "agreement, affirmed, substantiated, corroborated, corroborates, matches, matching",
        "match",
        "grounded, attributable, factual, justified, backed, validated",
        "belegt, gestützt, unterstützt, bestätigt, gedeckt, stimmt, richtig, zutreffend, wahr",
        "confirmé, confirmée, soutenu, soutenue, appuyé, appuyée, étayé, étayée, corroboré, vrai",
        "confirmado, confirmada, respaldado, respaldada, apoyado, apoyada, verdadero, soportado",
        "confermato, confermata, supportato, supportata, sostenuto, vero",
        "apoiado, apoiada, suportado, suportada, sustentado, sustentada, verdadeiro",
        "ondersteund, bevestigd, gesteund, potwierdzone, potwierdzony, poparte, wspierane",
        "подтверждено, подтверждается, подтверждён, подтверждает, поддерживается, поддержано",
        "підтверджено, підтримується, stöds, bekräftat, bekræftet, støttes, bekreftet, støttet",
        "destekleniyor, desteklenmiş, desteklenen, doğrulanmış, podporováno, potvrzeno",
        "tuettu, vahvistettu, alátámasztott, megerősített, susținut, confirmat, υποστηρίζεται",
        "支持, 支持的, 得到支持, 被支持, 证实, 符合, 一致, 正确, 蕴含, 支持します, 支持する",
        "支持される",
        "支持されている, 支持されています, 裏付けられている, 正しい, 지지됨, 지지, 지지한다",
        "뒷받침됨",
        "뒷받침된다, 일치, 확인됨, مدعوم, مدعومة, مؤيد, مؤكد, समर्थित, समर्थन, được hỗ trợ",
        "được xác nhận, didukung, terdukung, נתמך, پشتیبانی شده, تأیید شده",
    )
)
_CONTRADICTED = tuple(
    phrases(
        "contradicted, contradicts, contradict, contradiction, contradictory, contradicting",
        "refuted, refutes, refute, refutation, conflict, conflicts, conflicting, conflicted",
        "inconsistent, false, incorrect, wrong, inaccurate, disproved, disproven, disproves",
        "denied, denies, opposed, disagrees, disagree, disagreement, mismatch, untrue, falsified",
        "directly contradicted, clearly contradicted, not true, not correct, not accurate",
        "not consistent, disputed, rejected",
        "widersprochen, widerspricht, widerspruch, widersprüchlich, widerlegt, falsch, unwahr",
        "contredit, contredite, contradictoire, réfuté, réfutée, faux, fausse",
        "contradicho, contradicha, contradice, contradicción, contradictorio, refutado, refutada",
        "falso, falsa, contraddetto, contraddetta, contraddice, contraddizione, confutato",
        "contradito, contradita, contraditório, contradição, contradiz, refutada",
        "tegengesproken, weerlegd, weersproken, tegenspraak, onjuist, sprzeczne, zaprzeczone",
        "опровергнуто, опровергается, противоречит, противоречие, неверно, ложно, спростовано",
        "суперечить, motsägs, motsagt, modsagt, motsier, çelişiyor, çelişkili, yalanlanıyor",
        "vyvráceno, odporuje, v rozporu, ristiriidassa, ellentmond, ellentmondásos, contrazis",
        "αντικρούεται, 矛盾, 相矛盾, 被反驳, 反驳, 冲突, 不一致, 错误, 不符, 反对, 矛盾する",
        "矛盾している",
        "矛盾しています, 反論されている, 誤り, 間違い, 모순, 모순됨, 모순된다, 반박됨, 상충",
        "불일치",
        "متناقض, متناقضة, يتعارض, مناقض, विरोधाभासी, खंडित, विरोधाभास, mâu thuẫn, bị bác bỏ",
        "bertentangan, dibantah, סותר, נסתר, متضاد",
    )
)
_NOT_MENTIONED = tuple(
    phrases(
        "not mentioned, unmentioned, not supported, unsupported, not stated, not addressed",
        "not found, not present, not specified, not discussed, not covered, not included",
        "not provided, not given, not in the context, not in context, not in the text",
        "not enough information, not enough info, not enough evidence, nei",
        "insufficient, insufficient information, insufficient evidence, insufficient info",
        "insufficient context, neutral, unknown, unverifiable, unverified, not verifiable",
        "not verified, cannot be verified, can't be verified, cannot be determined, no mention",
        "no information, no evidence, no support, not entailed, not confirmed, not implied",
        "unrelated, irrelevant, absent, missing, omitted, silent, neither",
        "not directly mentioned",
        "not explicitly mentioned, not explicitly stated, not directly supported, baseless",
        "not explicitly supported, not clearly supported, not referenced, not described",
        "no relevant information, not relevant, not related, unaddressed, unstated, ungrounded",
        "not substantiated, unsubstantiated, unconfirmed",
        "nicht erwähnt, unerwähnt, nicht belegt, nicht gestützt, nicht genannt, nicht bestätigt",
        "nicht unterstützt, keine angabe, keine angaben, keine information, keine erwähnung",
        "non mentionné, non mentionnée, pas mentionné, pas mentionnée, non confirmé, non soutenu",
        "non confirmée, non évoqué, absent, neutre, aucune mention, pas confirmé",
        "no mencionado, no mencionada, no se menciona, sin mención, no confirmado, no respaldado",
        "no apoyado, sin información, non menzionato, non menzionata, non confermato",
        "non supportato, neutrale, não mencionado, não mencionada, não confirmado, não apoiado",
        "não suportado, sem menção, neutro, niet genoemd, niet vermeld, niet ondersteund",
        "niet bevestigd, neutraal, nie wspomniano, niewspomniane, nie wymieniono",
        "brak informacji",
        "neutralne, не упомянуто, не упоминается, не упомянут, не подтверждено, нейтрально",
        "не подтверждается, не поддерживается, не згадано, не згадується, ej nämnt, inte nämnt",
        "nämns inte, stöds inte, ikke nævnt, ikke nevnt, bahsedilmiyor, belirtilmemiş",
        "değinilmemiş, desteklenmiyor, nezmíněno, neuvedeno, ei mainittu, nem említett",
        "nem említi, nemenționat, δεν αναφέρεται, 未提及, 未提到, 没有提及, 没有提到, 未说明",
        "不支持",
        "未支持, 中立, 未涉及, 无关, 未被支持, 言及なし, 言及されていない, 言及されていません",
        "記載なし",
        "支持されない, 支持されていない, 支持されていません, 支持しない, 不明, 언급되지 않음",
        "언급 없음",
        "언급 안됨, 언급되지않음, 지지되지 않음, 중립, غير مذكور, غير مذكورة, لم يذكر, غير مدعوم",
        "محايد, उल्लेख नहीं, उल्लिखित नहीं, तटस्थ, không đề cập, không được đề cập, trung lập",
        "tidak disebutkan, tidak didukung, netral, לא מוזכר, ذکر نشده",
    )
)
_UNCLEAR = frozenset(
    phrases(
        "not sure, not certain, not clear, not contradicted, not contradictory, not refuted",
        "not false, not incorrect, not wrong, not inaccurate, not applicable, not inconsistent",
        "not contradicting, not in conflict, not entirely, not fully, not quite, not exactly",
        "no contradiction, no contradictions, no conflict, no conflicts, no inconsistency",
        "no inconsistencies, no discrepancy, no discrepancies, no longer, no one, no doubt",
        "no idea, no way, no problem, no problems, no issue, no issues, no error, no errors",
        "no opinion, no answer, no comment, no reason, no verdict, no judgment, no further",
        "no other, no need, no clear, no clue, no claim, no claims, no more, no less, no matter",
        "no difference, no differences, nicht widersprochen, nicht sicher, kein widerspruch",
        "no contradicho, no contradicha, non contredit, non contraddetto, não contradito",
        "no sé, no se, no estoy, no lo sé, no hay, no contradice, no puedo, no contiene",
        "不矛盾, 矛盾しない, 矛盾していない, 矛盾なし, 모순되지 않음, 모순 없음, не противоречит",
        "no false, no incorrect",
    )
)

_TEXT = (
    r"(?:^|[\n.;!?:—–]\s{0,4})(?:(?:so|thus|hence|therefore|overall|however|but)[\s,]{1,4})?"
    r"(?:the|this|that|my|none\s+of\s+the)?\s*(?:given\s+|provided\s+)?"
    r"(?:context|text|document|passage|sample|reference|source|premise|excerpt|evidence)s?\s+"
    r"(?:(?:clearly|directly|explicitly|fully|also|therefore|thus|actually|itself)\s+)?"
)
_OBJECT = (
    r"\s+(?:(?:the|this|that)\s+(?:claim|statement|sentence|assertion|hypothesis)(?:\s+\d+)?"
    r"|claim\s+\d+|this|that|it)(?=\s*(?:$|[.,;:!\n(—–]|because|since|as\b|by\b|and\b|in\b))"
)
_SENTENCES: tuple[tuple[re.Pattern[str], JudgeVerdict], ...] = (
    (
        re.compile(f"{_TEXT}(?:supports?|confirms?|entails?|verif(?:y|ies)){_OBJECT}", re.I),
        "supported",
    ),
    (
        re.compile(
            f"{_TEXT}(?:contradicts?|refutes?|disproves?|conflicts?\\s+with){_OBJECT}", re.I
        ),
        "contradicted",
    ),
    (
        re.compile(
            f"{_TEXT}(?:(?:does|do)\\s*(?:not|n['’]t)\\s+(?:\\w+\\s+)?(?:mention|address|support"
            f"|discuss|cover|confirm|speak\\s+of)|(?:says?|mentions?)\\s+nothing\\s+about){_OBJECT}",
            re.I,
        ),
        "not_mentioned",
    ),
)

VERDICTS: Final[Choices[JudgeVerdict]] = Choices(
    words={
        **meanings(
            (
                ("supported", _SUPPORTED),
                ("contradicted", _CONTRADICTED),
                ("not_mentioned", _NOT_MENTIONED),
            )
        ),
        # "No" says that the claim is not supported, not that the text contradicts it.
        **{w: "supported" if yes else "not_mentioned" for w, yes in CLEAR_YES_OR_NO.items()},
    },
    alone={
        **{w: "supported" if yes else "not_mentioned" for w, yes in YES_OR_NO.items()},
        "not": "not_mentioned",
        "nicht": "not_mentioned",
    },
    unclear=_UNCLEAR,
    sentences=_SENTENCES,
    order=("supported", "contradicted", "not mentioned"),
)
"""How a text relates to a claim."""

SUPPORT: Final[Choices[bool]] = Choices(
    words={
        **meanings(((True, _SUPPORTED), (False, (*_CONTRADICTED, *_NOT_MENTIONED)))),
        **CLEAR_YES_OR_NO,
    },
    alone=YES_OR_NO,
    unclear=_UNCLEAR - {"not contradicted"} | {"unknown", "neutral", "不明"},
    sentences=tuple((pattern, verdict == "supported") for pattern, verdict in _SENTENCES),
    order=("yes", "no"),
)
"""Whether a text supports a claim."""

_TRUE = tuple(
    phrases(
        "true, correct, right, accurate, factual, valid",
        "wahr, richtig, korrekt, stimmt, zutreffend, vrai, vraie, correct, exact, verdadero",
        "verdadera, correcto, correcta, cierto, vero, vera, corretto, corretta, verdadeiro",
        "verdadeira, correto, correta, waar, juist, prawda, правда, верно, верна, 真, 正确, 属实",
        "正しい, 맞다, 참, 正確",
    )
)
_FALSE = tuple(
    phrases(
        "false, incorrect, wrong, inaccurate, untrue, not true, not correct, not accurate",
        "non-factual, nonfactual, not factual, not right, invalid, fabricated, hallucinated",
        "falsch, unwahr, nicht wahr, nicht richtig, nicht korrekt, unzutreffend, faux, fausse",
        "incorrecte, falso, falsa, incorrecto, incorrecta, errato, errata, scorretto, non vero",
        "no es cierto, incorreto, incorreta, onwaar, onjuist, fałsz, nieprawda, ложь, неверно",
        "неверна, 假, 错误, 不属实, 不正确, 誤り, 間違い, 正しくない, 틀리다, 거짓, 不正確",
    )
)
TRUE_OR_FALSE: Final = meanings(((True, _TRUE), (False, _FALSE)))
"""What each word for true or false means, in lower case."""

TRUTH: Final[Choices[bool]] = Choices(
    words={**TRUE_OR_FALSE, **CLEAR_YES_OR_NO},
    alone=YES_OR_NO,
    unclear=_UNCLEAR | {"true or false", "not false", "not incorrect", "not wrong"},
    order=("yes", "no"),
)
"""Whether a claim is true."""
