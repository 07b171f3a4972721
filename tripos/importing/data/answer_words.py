"""Words for right answers, and for what tells of one, in the names of columns: in the languages of the world.

A name is taken apart at spaces, marks, digits and capitals: `goldLabel`, `correct_answer_2`, `Muster-Lösung`. A word
counts if it is one of the parts; `*` in it stands for any letters, so `antwort*` is in `Antworten` too, and `_` joins
parts that stand in a row. Capitals, accents and forms of Unicode make no difference. In scripts without spaces or with
articles that are written onto the word, a word counts wherever it stands.

A column too many that is kept from a model costs a word in a spec; one too few gives an answer away. So words are
taken that often mean an answer, and so is what is said of one: `solution_count` tells of the solution.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

PARTS = {
    "English": "answer answers *answer *answers ans answerkey solution solutions gold golds golden reference "
    "references label labels *label *labels target targets truth groundtruth key correct explanation explanations "
    "rationale rationales expected",
    "German": "antwort* *antwort *antworten losung* *losung *losungen loesung* *loesung *loesungen richtig* korrekt* "
    "erklarung* erklaerung* begrundung* begruendung*",
    "French": "reponse* corrige corriges correction solution* explication* justification*",
    "Spanish": "respuesta* solucion* correct* explicacion* clave",
    "Portuguese": "resposta* solucao solucoes gabarito* correto* correta* explicacao chave",
    "Italian": "risposta risposte soluzion* corrett* spiegazion*",
    "Catalan": "resposta respostes solucio*",
    "Romanian": "raspuns* solutie solutii rezolvar* corect*",
    "Dutch": "antwoord* *antwoord oplossing* juist* uitleg uitwerking*",
    "Swedish": "svar svaret svaren facit losning* ratt",
    "Danish": "svar svaret svarene losning* rigtig* facit",
    "Norwegian": "svar svaret svarene losning* riktig* fasit",
    "Icelandic": "svar svor lausn*",
    "Finnish": "vastau* ratkais* oikea* selity*",
    "Estonian": "vastus* lahendus* oige*",
    "Latvian": "atbild* risinajum* pareiz*",
    "Lithuanian": "atsakym* sprendim* teising*",
    "Polish": "odpowied* rozwiazan* poprawn* wyjasnien* klucz",
    "Czech": "odpoved* reseni spravn* vysvetlen*",
    "Slovak": "odpoved* riesen* spravn* vysvetlen*",
    "Slovene": "odgovor* resit* pravil*",
    "Croatian, Serbian and Bosnian": "odgovor* rjesenj* resenj* tacan tacn* tocan tocn* одговор* решењ* тачан тачн*",
    "Hungarian": "valasz* megoldas* helyes* magyarazat*",
    "Albanian": "pergjigj* zgjidhj*",
    "Turkish": "cevap* cevab* yanit* yanıt* cozum* dogru* acıklama* aciklama*",
    "Azerbaijani": "cavab*",
    "Uzbek": "javob*",
    "Russian": "ответ* решени* правильн* верн* эталон* объяснени* пояснени* ключ",
    "Ukrainian": "відповід* вiдповiд* рішенн* розв* правильн* пояснен*",
    "Belarusian": "адказ* рашэнн*",
    "Bulgarian": "отговор* решени* правил* обяснени*",
    "Macedonian": "одговор* решени*",
    "Kazakh": "жауап* шешім*",
    "Mongolian": "хариу* шийд*",
    "Greek": "απαντησ* λυσ* σωστ* εξηγησ*",
    "Georgian": "პასუხ* ამოხსნ*",
    "Armenian": "պատասխան* լուծում*",
    "Basque": "erantzun* ebazpen*",
    "Welsh": "ateb* datrysiad*",
    "Irish": "freagra* reiteach*",
    "Maltese": "twegiba twegibiet soluzzjoni",
    "Vietnamese": "tra_loi dap_an loi_giai giai_thich traloi dapan loigiai",
    "Indonesian": "jawab* kunci pembahasan penyelesaian solusi",
    "Malay": "jawapan* penyelesaian",
    "Filipino": "sagot kasagutan solusyon",
    "Swahili": "jibu majibu suluhisho",
    "Hausa": "amsa amsoshi",
    "Yoruba": "idahun",
    "Zulu": "impendulo izimpendulo",
    "Esperanto": "respondo respondoj solvo",
}
"""Words that are parts of a name, by language, without accents."""
ANYWHERE = {
    "Chinese": "答案 解答 解析 正确 正確 回答 参考答 標準答 标准答 题解",
    "Japanese": "答え 解答 正解 回答 模範解 解説 こたえ",
    "Korean": "정답 해답 답안 답변 모범답 해설 풀이",
    "Arabic": "اجاب جواب الحل حلول صحيح تفسير",
    "Persian": "پاسخ جواب راه_حل درست",
    "Urdu": "جواب حل",
    "Hebrew": "תשוב פתרו נכון",
    "Hindi, Marathi and Nepali": "उत्तर जवाब समाधान सही व्याख्या",
    "Bengali": "উত্তর সমাধান সঠিক",
    "Punjabi": "ਜਵਾਬ ਉੱਤਰ ਹੱਲ",
    "Gujarati": "જવાબ ઉત્તર ઉકેલ",
    "Tamil": "பதில் விடை தீர்வு",
    "Telugu": "సమాధాన జవాబు",
    "Kannada": "ಉತ್ತರ ಪರಿಹಾರ",
    "Malayalam": "ഉത്തര പരിഹാര",
    "Sinhala": "පිළිතුර විසඳුම",
    "Thai": "คำตอบ เฉลย",
    "Lao": "ຄຳຕອບ ຄໍາຕອບ",
    "Khmer": "ចម្លើយ",
    "Burmese": "အဖြေ",
    "Amharic": "መልስ",
}
"""Words that count wherever they stand in a name, by language."""
ALONE = frozenset({"答", "解", "답"})
"""Words that count if they are a whole part."""
PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
"""Letters that Unicode does not take apart into a letter and an accent."""


def is_answer_name(column: str) -> bool:
    """Return true if the name of a column has a word for a right answer.

    >>> [is_answer_name(name) for name in ("correct_answer_2", "goldLabel", "Musterlösung", "RÉPONSE", "câu trả lời")]
    [True, True, True, True, True]
    >>> [is_answer_name(name) for name in ("question", "answered_by", "keyword", "Lesezeit", "问题")]
    [False, False, False, False, False]
    """
    parts = _parts(column)
    joined = "_".join(parts)
    if ALONE & set(parts):
        return True
    together = joined.replace("_", "")
    return bool(_pattern().search(f"_{joined}_")) or any(word in together for word in _anywhere())


def _parts(name: str) -> list[str]:
    """Return the parts of a name, folded: at marks, before capitals, and around digits.

    >>> _parts("goldLabel2"), _parts("XMLAnswer"), _parts("Muster-Lösung")
    (['gold', 'label', '2'], ['xml', 'answer'], ['muster', 'losung'])
    """
    text = unicodedata.normalize("NFKC", name)
    cut = ""
    for place, letter in enumerate(text):
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        begins = letter.isupper() and (before.islower() or (before.isupper() and after.islower()))
        cut += " " if begins or (before and before.isdigit() != letter.isdigit()) else ""
        cut += letter
    return [part for part in re.split(r"[\s_]+", re.sub(r"[^\w\s]", " ", _folded(cut))) if part]


def _folded(text: str) -> str:
    """Return a text without capitals and accents. Marks that are letters of their script, as vowels are in those of
    India, become nothing too: they do so in the words as well."""
    plain = unicodedata.normalize("NFKD", text.casefold().translate(PLAIN))
    return "".join(letter for letter in plain if unicodedata.category(letter) not in ("Mn", "Mc", "Cf"))


@cache
def _pattern() -> re.Pattern[str]:
    words = {_folded(word) for some in PARTS.values() for word in some.split()}
    told = "|".join(sorted(re.escape(word).replace(r"\*", "[^_]*") for word in words))
    return re.compile(f"(?<=_)(?:{told})(?=_)")


@cache
def _anywhere() -> frozenset[str]:
    return frozenset(_folded(word).replace("_", "") for some in ANYWHERE.values() for word in some.split())
