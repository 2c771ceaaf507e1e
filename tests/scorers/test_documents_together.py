"""Claims that several documents support together, and claims that only seem to be."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage, Request
from resay.core.references import Reference
from resay.plugins import Completion, Completions, Evidence, Scores
from resay.scorers.common.document_subjects import DocumentSubjects
from resay.scorers.references import References

pytestmark = pytest.mark.anyio


class Case(NamedTuple):
    """Documents, with claims that they support together and claims that they do not."""

    question: str
    documents: tuple[str, ...]
    true: tuple[str, ...]
    false: tuple[str, ...]


CASES = {
    "bridge": Case(
        question="Tell me about the Garmo bridge.",
        documents=(
            "The Garmo bridge opened in 1932. It is painted grey.",
            "The Silo tunnel opened in 1950. It is 2 km long.",
            "The Garmo bridge is 212 m long and was designed by Ada Moor.",
            "Ada Moor was born in Lorne in 1901. She also designed the Vento hall in 1928.",
        ),
        true=(
            "The Garmo bridge, opened in 1932, is 212 m long.",
            "The Garmo bridge is 212 m long and opened in 1932.",
            "Opened in 1932, the Garmo bridge was designed by Ada Moor.",
            "It opened in 1932 and is 212 m long.",
            "The 212 m long bridge was opened in 1932.",
            "The Garmo bridge was designed by Ada Moor, who was born in Lorne in 1901.",
            "The grey Garmo bridge is 212 m long.",
        ),
        false=(
            "The Garmo bridge, opened in 1950, is 212 m long.",
            "The Garmo bridge, opened in 1932, is 2 km long.",
            "It opened in 1932 and is 2 km long.",
            "It opened in 1928 and is 212 m long.",
            "The Garmo bridge, opened in 1932, is 640 m long.",
            "The Garmo bridge was designed by Ada Moor, who was born in Lorne in 1928.",
            "The Garmo bridge was designed by Ada Moor in 1928.",
            "The Garmo bridge, opened in 1901, was designed by Ada Moor.",
            "The Garmo bridge, designed by Karl Finch, opened in 1932.",
        ),
    ),
    "founder": Case(
        question="Tell me about Dr. Lena Voss.",
        documents=(
            "Lena Voss was born in Graz in 1961. She studied chemistry in Vienna.",
            "In 1994 Lena Voss founded Nexar, a maker of sensors. Nexar has 340 employees.",
            "Otto Brandt founded Kelvo in 1988. Kelvo has 90 employees.",
        ),
        true=(
            "Lena Voss, born in Graz in 1961, founded Nexar in 1994.",
            "Lena Voss, who studied chemistry in Vienna, founded the sensor maker Nexar.",
            "Lena Voss founded Nexar, which has 340 employees.",
        ),
        false=(
            "Lena Voss, born in Graz in 1961, founded Kelvo in 1988.",
            "Lena Voss studied chemistry in Vienna, and also founded Kelvo in 1988.",
            "Lena Voss founded Nexar, which has 90 employees.",
            "Lena Voss, born in Graz in 1994, founded Nexar in 1961.",
        ),
    ),
    "two": Case(
        question="When did the Garmo bridge and the Silo tunnel open?",
        documents=(
            "The Garmo bridge opened in 1932. It is painted grey.",
            "The Silo tunnel opened in 1950. It is 2 km long.",
            "The Vento hall opened in 1928.",
        ),
        true=(
            "The Garmo bridge opened in 1932 and the Silo tunnel in 1950.",
            "The Garmo bridge opened in 1932, while the Silo tunnel opened in 1950.",
            "The Silo tunnel opened in 1950 and the Garmo bridge in 1932.",
            "In 1932 the Garmo bridge opened, and in 1950 the Silo tunnel.",
            "The Garmo bridge and the Silo tunnel opened in 1932 and 1950.",
            "The Vento hall opened in 1928, the Garmo bridge in 1932 and the Silo tunnel in 1950.",
            "The Garmo bridge (1932) and the Silo tunnel (1950) are open.",
        ),
        false=(
            "The Garmo bridge opened in 1950 and the Silo tunnel in 1932.",
            "The Garmo bridge opened in 1950, while the Silo tunnel opened in 1932.",
            "The Silo tunnel opened in 1932 and the Garmo bridge in 1950.",
            "In 1950 the Garmo bridge opened, and in 1932 the Silo tunnel.",
            "The Garmo bridge and the Silo tunnel opened in 1950 and 1932.",
            "Both the Garmo bridge and the Silo tunnel opened in 1932.",
            "The Vento hall opened in 1932, the Garmo bridge in 1928 and the Silo tunnel in 1950.",
            "The Vento hall opened in 1950, the Garmo bridge in 1928 and the Silo tunnel in 1932.",
            "The Garmo bridge (1950) and the Silo tunnel (1932) are open.",
        ),
    ),
    "noquestion": Case(
        question="Summarise the documents.",
        documents=(
            "The Garmo bridge opened in 1932. It is painted grey.",
            "The Silo tunnel opened in 1950. It is 2 km long.",
        ),
        true=(
            "The Garmo bridge opened in 1932 and the Silo tunnel in 1950.",
            "The Garmo bridge is painted grey and the Silo tunnel is 2 km long.",
        ),
        false=(
            "The Garmo bridge opened in 1950 and the Silo tunnel in 1932.",
            "The Garmo bridge is 2 km long and the Silo tunnel is painted grey.",
            "The Garmo bridge opened in 1932 and is 2 km long.",
        ),
    ),
    "products": Case(
        question="What does the Orbit X100 cost and weigh?",
        documents=(
            "Orbit X100\nIt costs 249 euros.",
            "Orbit X110\nIt weighs 7.5 kg and costs 399 euros.",
            "The Orbit X100 weighs 4.2 kg.",
        ),
        true=(
            "The Orbit X100 costs 249 euros and weighs 4.2 kg.",
            "It costs 249 euros and weighs 4.2 kg.",
            "The Orbit X100 weighs 4.2 kg, at a price of 249 euros.",
        ),
        false=(
            "The Orbit X100 costs 249 euros and weighs 7.5 kg.",
            "It costs 399 euros and weighs 4.2 kg.",
            "The Orbit X100 costs 399 euros, the X110 249 euros.",
            "The Orbit X110 costs 399 euros and weighs 4.2 kg.",
            "It costs 249 euros and weighs 7.5 kg.",
        ),
    ),
    "dates": Case(
        question="When was the station built and when did it open?",
        documents=(
            "Construction of the Harbour station began in 1929.",
            "The Harbour station was opened on 4 June 1932.",
            "The Harbour station was renovated in 1987.",
        ),
        true=(
            "Construction of the Harbour station began in 1929 and it was opened on 4 June 1932.",
            "The Harbour station was opened in 1932 and renovated in 1987.",
        ),
        false=(
            "Construction of the Harbour station began in 1932 and it was opened in 1929.",
            "The Harbour station was opened in 1987 and renovated in 1932.",
            "The Harbour station was opened on 4 July 1932 and renovated in 1987.",
        ),
    ),
    "same name": Case(
        question="What is known about Mercury?",
        documents=(
            "Mercury (planet)\nMercury has a diameter of 4,879 km.",
            "Mercury (element)\nMercury melts at -39 °C.",
            "Mercury (planet)\nMercury orbits the Sun in 88 days.",
        ),
        true=("Mercury has a diameter of 4,879 km and orbits the Sun in 88 days.",),
        false=("The planet Mercury has a diameter of 4,879 km and melts at -39 °C.",),
    ),
    "same name 2": Case(
        question="Who was John Reed?",
        documents=(
            "John Reed, the painter, was born in Oslo in 1890.",
            "John Reed, the chemist, died in 1951.",
            "The painter John Reed died in Bergen in 1962.",
        ),
        true=("The painter John Reed was born in Oslo in 1890 and died in Bergen in 1962.",),
        false=("The painter John Reed was born in Oslo in 1890 and died in 1951.",),
    ),
    "same name 3": Case(
        question="What about Springfield?",
        documents=(
            "Springfield, Ohio, has 58,000 inhabitants.",
            "Springfield, Illinois, was founded in 1821.",
            "Springfield, Ohio, was founded in 1801.",
        ),
        true=("Springfield, Ohio, was founded in 1801 and has 58,000 inhabitants.",),
        false=(
            "Springfield, Ohio, was founded in 1821 and has 58,000 inhabitants.",
            "Springfield, Illinois, was founded in 1821 and has 58,000 inhabitants.",
        ),
    ),
    "de": Case(
        question="Wann wurden Brücke und Tunnel eröffnet?",
        documents=(
            "Die Garmo-Brücke wurde 1932 eröffnet.",
            "Der Silo-Tunnel wurde 1950 eröffnet.",
            "Die Garmo-Brücke hat eine Länge von 212 Metern.",
        ),
        true=(
            "Die Garmo-Brücke wurde 1932 eröffnet und hat eine Länge von 212 Metern.",
            "Die Garmo-Brücke wurde 1932 eröffnet, der Silo-Tunnel 1950.",
            "Die 1932 eröffnete Garmo-Brücke ist 212 m lang.",
        ),
        false=(
            "Die Garmo-Brücke wurde 1950 eröffnet und hat eine Länge von 212 Metern.",
            "Die Garmo-Brücke wurde 1950 eröffnet, der Silo-Tunnel 1932.",
            "Der Silo-Tunnel wurde 1950 eröffnet und hat eine Länge von 212 Metern.",
        ),
    ),
    "de2": Case(
        question="Welche Einwohnerzahl haben Oslo und Bergen?",
        documents=(
            "Oslo hat 717.000 Einwohner.",
            "Bergen hat 291.000 Einwohner.",
            "Bergen liegt an der Westküste.",
        ),
        true=(
            "Oslo hat 717.000 Einwohner und Bergen 291.000.",
            "Bergen liegt an der Westküste und hat 291.000 Einwohner.",
        ),
        false=(
            "Oslo hat 291.000 Einwohner und Bergen 717.000.",
            "Bergen liegt an der Westküste und hat 717.000 Einwohner.",
        ),
    ),
    "fr": Case(
        question="Que sait-on du pont Garmo ?",
        documents=(
            "Le pont Garmo a été inauguré en 1932.",
            "Le tunnel Silo a été inauguré en 1950.",
            "Le pont Garmo mesure 212 mètres de long.",
        ),
        true=(
            "Le pont Garmo, inauguré en 1932, mesure 212 mètres de long.",
            "Le pont Garmo a été inauguré en 1932 et le tunnel Silo en 1950.",
        ),
        false=(
            "Le pont Garmo, inauguré en 1950, mesure 212 mètres de long.",
            "Le pont Garmo a été inauguré en 1950 et le tunnel Silo en 1932.",
        ),
    ),
    "es": Case(
        question="¿Qué se sabe del puente Garmo?",
        documents=(
            "El puente Garmo se inauguró en 1932.",
            "El túnel Silo se inauguró en 1950.",
            "El puente Garmo mide 212 metros.",
        ),
        true=(
            "El puente Garmo, inaugurado en 1932, mide 212 metros.",
            "El puente Garmo se inauguró en 1932 y el túnel Silo en 1950.",
        ),
        false=(
            "El puente Garmo, inaugurado en 1950, mide 212 metros.",
            "El puente Garmo se inauguró en 1950 y el túnel Silo en 1932.",
        ),
    ),
    "zh": Case(
        question="加尔莫桥和锡罗隧道是什么时候开通的？",
        documents=(
            "加尔莫桥于1932年开通。",
            "锡罗隧道于1950年开通。",
            "加尔莫桥全长212米。",
        ),
        true=(
            "加尔莫桥于1932年开通，全长212米。",
            "加尔莫桥于1932年开通，锡罗隧道于1950年开通。",
        ),
        false=(
            "加尔莫桥于1950年开通，全长212米。",
            "加尔莫桥于1950年开通，锡罗隧道于1932年开通。",
        ),
    ),
    "ja": Case(
        question="ガルモ橋について教えてください。",
        documents=(
            "ガルモ橋は1932年に開通した。",
            "シロトンネルは1950年に開通した。",
            "ガルモ橋の全長は212メートルである。",
        ),
        true=("ガルモ橋は1932年に開通し、全長は212メートルである。",),
        false=("ガルモ橋は1950年に開通し、全長は212メートルである。",),
    ),
    "ru": Case(
        question="Что известно о мосте Гармо?",
        documents=(
            "Мост Гармо открыт в 1932 году.",
            "Тоннель Сило открыт в 1950 году.",
            "Длина моста Гармо составляет 212 метров.",
        ),
        true=("Мост Гармо открыт в 1932 году, его длина составляет 212 метров.",),
        false=("Мост Гармо открыт в 1950 году, его длина составляет 212 метров.",),
    ),
    "ar": Case(
        question="ماذا تعرف عن جسر غارمو؟",
        documents=(
            "افتتح جسر غارمو عام 1932.",
            "افتتح نفق سيلو عام 1950.",
            "يبلغ طول جسر غارمو 212 مترا.",
        ),
        true=(),
        false=("افتتح جسر غارمو عام 1950 ويبلغ طوله 212 مترا.",),
    ),
    "three": Case(
        question="Tell me about the Nordlys museum.",
        documents=(
            "The Nordlys museum opened in 1999.",
            "The Nordlys museum has 14 rooms.",
            "Anna Berg directs the Nordlys museum.",
            "The Havn museum has 31 rooms and opened in 2004; Tor Lund directs it.",
        ),
        true=(
            "The Nordlys museum, which opened in 1999 and has 14 rooms, is directed by Anna Berg.",
            "Anna Berg directs the Nordlys museum, which opened in 1999.",
            "The Nordlys museum has 14 rooms and is directed by Anna Berg.",
        ),
        false=(
            "The Nordlys museum, which opened in 2004 and has 14 rooms, is directed by Anna Berg.",
            "The Nordlys museum, which opened in 1999 and has 31 rooms, is directed by Anna Berg.",
            "The Nordlys museum, which opened in 1999 and has 14 rooms, is directed by Tor Lund.",
            "Anna Berg directs the Nordlys museum, which opened in 2004.",
            "Anna Berg, who directs the Nordlys museum, was born in 1999.",
            "The Nordlys museum has 31 rooms and is directed by Tor Lund.",
        ),
    ),
    "policy": Case(
        question="How much leave do I get and who approves it?",
        documents=(
            "Employees get 25 days of leave a year.",
            "Leave is approved by the team lead within 3 days.",
            "Contractors get 10 days of leave a year.",
        ),
        true=(
            "Employees get 25 days of leave a year, and leave is approved by the team lead.",
            "Leave is approved by the team lead within 3 days, and employees get 25 days a year.",
        ),
        false=(
            "Employees get 10 days of leave, contractors 25.",
            "Employees get 3 days of leave a year, and it is approved within 25 days.",
        ),
    ),
    "tariff": Case(
        question="What do the tariffs cost?",
        documents=(
            "Tariff Basic: 9.99 euros a month, 5 GB of data.",
            "Tariff Plus: 19.99 euros a month, 20 GB of data.",
        ),
        true=("Basic costs 9.99 euros a month and Plus 19.99 euros.",),
        false=(
            "Basic costs 19.99 euros a month and Plus 9.99 euros.",
            "Tariff Basic includes 20 GB of data, tariff Plus 5 GB.",
            "Tariff Basic costs 9.99 euros a month and includes 20 GB of data.",
        ),
    ),
    "bio": Case(
        question="Who was Lena Hart?",
        documents=(
            "Lena Hart (1888-1964) was a Danish botanist. She studied in Uppsala.",
            "Hart discovered the moss Bryum hartii in 1921 on the Faroe Islands.",
            "Lena Hart received the Linné Medal in 1950.",
            "Otto Hart, her brother, received the Tietgen Medal in 1947.",
        ),
        true=(
            "Lena Hart, a Danish botanist, received the Linné Medal in 1950.",
            "She studied in Uppsala and received the Linné Medal in 1950.",
            "The Danish botanist discovered the moss Bryum hartii in 1921.",
            "Lena Hart received the Linné Medal in 1950 and Otto Hart the Tietgen Medal in 1947.",
        ),
        false=(
            "Lena Hart, a Danish botanist, received the Tietgen Medal in 1947.",
            "Lena Hart received the Linné Medal in 1947.",
            "Lena Hart received the Tietgen Medal in 1947 and Otto Hart the Linné Medal in 1950.",
            "She studied in Uppsala and received the Linné Medal in 1921.",
            "Otto Hart studied in Uppsala and received the Tietgen Medal in 1947.",
        ),
    ),
    "software": Case(
        question="How do I configure the cache of Falcon 3?",
        documents=(
            "Falcon 3 keeps its cache in memory. The default size is 256 MB.",
            "In Falcon 3 the cache is configured with the key `cache.size`. Restart after that.",
            "Falcon 2 uses `cache_size` and a default of 64 MB.",
        ),
        true=(
            "The default size is 256 MB, configured with the key `cache.size`.",
            "The cache is kept in memory and is configured with `cache.size`.",
        ),
        false=(
            "The default size is 64 MB, configured with the key `cache.size`.",
            "The default size is 256 MB, set with the key `cache_size`.",
            "Falcon 2 has a default of 256 MB and uses `cache_size`.",
        ),
    ),
    "company": Case(
        question="How did Brandt and Corvo do in 2023?",
        documents=(
            "Brandt AG had revenue of 4.1 billion euros in 2023.",
            "Corvo SpA had revenue of 2.7 billion euros in 2023 and 12,000 employees.",
            "Brandt AG employed 31,000 people at the end of 2023.",
        ),
        true=(
            "Brandt AG had revenue of 4.1 billion euros and 31,000 employees in 2023.",
            "In 2023 Brandt AG had revenue of 4.1 billion euros, Corvo SpA 2.7 billion.",
            "Brandt AG employed 31,000 people and Corvo SpA had 12,000 employees.",
        ),
        false=(
            "Brandt AG had revenue of 2.7 billion euros and 31,000 employees in 2023.",
            "In 2023 Brandt AG had revenue of 2.7 billion euros, Corvo SpA 4.1 billion.",
            "Brandt AG employed 12,000 people and Corvo SpA had 31,000 employees.",
            "Corvo SpA had revenue of 4.1 billion euros and 12,000 employees.",
        ),
    ),
    "medicine": Case(
        question="What about dosing of Nervalin and Cardox?",
        documents=(
            "Nervalin: adults take 20 mg once a day.",
            "Nervalin must not be taken during pregnancy.",
            "Cardox: adults take 50 mg twice a day with food.",
        ),
        true=(
            "Adults take 20 mg of Nervalin once a day; it must not be taken during pregnancy.",
            "Adults take 20 mg of Nervalin once a day and 50 mg of Cardox twice a day.",
        ),
        false=(
            "Adults take 50 mg of Nervalin once a day; it must not be taken during pregnancy.",
            "Adults take 50 mg of Nervalin once a day and 20 mg of Cardox twice a day.",
            "Adults take 20 mg of Cardox; it must not be taken during pregnancy.",
        ),
    ),
    "it": Case(
        question="Che cosa si sa del museo Navale e del teatro Verdi?",
        documents=(
            "Il museo Navale ha aperto nel 1911.",
            "Il teatro Verdi ha aperto nel 1878.",
            "Il museo Navale ha 40 sale.",
        ),
        true=(
            "Il museo Navale, aperto nel 1911, ha 40 sale.",
            "Il museo Navale ha aperto nel 1911 e il teatro Verdi nel 1878.",
        ),
        false=(
            "Il museo Navale, aperto nel 1878, ha 40 sale.",
            "Il museo Navale ha aperto nel 1878 e il teatro Verdi nel 1911.",
            "Il teatro Verdi ha aperto nel 1878 e ha 40 sale.",
        ),
    ),
    "nl": Case(
        question="Wat is er bekend over de Kerkbrug?",
        documents=(
            "De Kerkbrug werd in 1906 gebouwd.",
            "De Molenbrug werd in 1931 gebouwd.",
            "De Kerkbrug is 48 meter lang.",
        ),
        true=(
            "De Kerkbrug werd in 1906 gebouwd en is 48 meter lang.",
            "De Kerkbrug werd in 1906 gebouwd en de Molenbrug in 1931.",
        ),
        false=(
            "De Kerkbrug werd in 1931 gebouwd en is 48 meter lang.",
            "De Kerkbrug werd in 1931 gebouwd en de Molenbrug in 1906.",
        ),
    ),
    "pt": Case(
        question="O que se sabe da ponte Alva?",
        documents=(
            "A ponte Alva foi inaugurada em 1954.",
            "O túnel Serra foi inaugurado em 1971.",
            "A ponte Alva mede 320 metros.",
        ),
        true=(
            "A ponte Alva, inaugurada em 1954, mede 320 metros.",
            "A ponte Alva foi inaugurada em 1954 e o túnel Serra em 1971.",
        ),
        false=(
            "A ponte Alva, inaugurada em 1971, mede 320 metros.",
            "A ponte Alva foi inaugurada em 1971 e o túnel Serra em 1954.",
        ),
    ),
    "ko": Case(
        question="가르모 다리에 대해 알려 주세요.",
        documents=(
            "가르모 다리는 1932년에 개통되었다.",
            "실로 터널은 1950년에 개통되었다.",
            "가르모 다리의 길이는 212미터이다.",
        ),
        true=("가르모 다리는 1932년에 개통되었으며 길이는 212미터이다.",),
        false=("가르모 다리는 1950년에 개통되었으며 길이는 212미터이다.",),
    ),
    "hi": Case(
        question="गार्मो पुल के बारे में बताइए।",
        documents=(
            "गार्मो पुल 1932 में खुला।",
            "सिलो सुरंग 1950 में खुली।",
            "गार्मो पुल 212 मीटर लंबा है।",
        ),
        true=("गार्मो पुल 1932 में खुला और 212 मीटर लंबा है।",),
        false=("गार्मो पुल 1950 में खुला और 212 मीटर लंबा है।",),
    ),
    "pl": Case(
        question="Co wiadomo o moście Garmo?",
        documents=(
            "Most Garmo otwarto w 1932 roku.",
            "Tunel Silo otwarto w 1950 roku.",
            "Most Garmo ma 212 metrów długości.",
        ),
        true=("Most Garmo, otwarty w 1932 roku, ma 212 metrów długości.",),
        false=("Most Garmo, otwarty w 1950 roku, ma 212 metrów długości.",),
    ),
    "rows": Case(
        question="What are the opening hours of the pools?",
        documents=(
            "Nordbad: open from 7:00 to 21:00. Admission 4 euros.",
            "Südbad: open from 9:00 to 19:00. Admission 6 euros.",
        ),
        true=(
            "The Nordbad is open from 7:00 to 21:00 and the Südbad from 9:00 to 19:00.",
            "Admission is 4 euros at the Nordbad and 6 euros at the Südbad.",
        ),
        false=(
            "The Nordbad is open from 9:00 to 19:00 and the Südbad from 7:00 to 21:00.",
            "Admission is 6 euros at the Nordbad and 4 euros at the Südbad.",
        ),
    ),
    "events": Case(
        question="When did the siege begin and who ended it?",
        documents=(
            "The siege of Torvald began in March 1412.",
            "The siege of Torvald was ended by Duke Harald after nine weeks.",
            "The siege of Ostmark began in June 1398 and was ended by Queen Ylva.",
        ),
        true=(
            "The siege of Torvald began in March 1412, ended by Duke Harald after nine weeks.",
            "The siege of Torvald began in March 1412 and that of Ostmark in June 1398.",
        ),
        false=(
            "The siege of Torvald began in June 1398, ended by Duke Harald after nine weeks.",
            "The siege of Torvald began in March 1412, ended by Queen Ylva.",
            "The siege of Torvald began in June 1398 and that of Ostmark in March 1412.",
            "The siege of Torvald began in March 1412, ended by Duke Harald after six weeks.",
        ),
    ),
    "painted": Case(
        question="What colour are the doors?",
        documents=(
            "The north door is green.",
            "The south door is red.",
            "The north door is 3 m high.",
        ),
        true=("The north door is green and 3 m high.",),
        false=(
            "The north door is red and the south door is green.",
            "The south door is red and 3 m high.",
        ),
    ),
    "order": Case(
        question="Which opened first?",
        documents=(
            "The Garmo bridge opened in 1932.",
            "The Silo tunnel opened in 1950.",
        ),
        true=(),
        false=(
            "The Silo tunnel opened before the Garmo bridge.",
            "The Garmo bridge opened after the Silo tunnel.",
            "The Garmo bridge and the Silo tunnel opened in the same year, 1950.",
        ),
    ),
    "hotpot": Case(
        question="Who directed the film Silent Harbour and where was the director born?",
        documents=(
            "Silent Harbour is a 1963 drama film directed by Marta Keller.",
            "Marta Keller (born 1921 in Graz) was an Austrian film director.",
            "Silent River is a 1971 film directed by Olaf Brink.",
        ),
        true=(
            "Silent Harbour was directed by Marta Keller, who was born in Graz.",
            "The 1963 film Silent Harbour was directed by the Austrian director Marta Keller.",
            "Marta Keller, born in 1921 in Graz, directed Silent Harbour.",
        ),
        false=(
            "Silent Harbour was directed by Olaf Brink, who was born in Graz.",
            "The 1971 film Silent Harbour was directed by Marta Keller.",
            "Marta Keller, born in 1921 in Graz, directed Silent River.",
        ),
    ),
    "warranty": Case(
        question="What is the warranty on the Kelvin kettle?",
        documents=(
            "Kelvin kettle: capacity 1.7 litres, power 2,200 W.",
            "Warranty: the Kelvin kettle has a warranty of 3 years.",
            "Warranty: the Joule toaster has a warranty of 5 years.",
        ),
        true=(
            "The Kelvin kettle holds 1.7 litres and has a warranty of 3 years.",
            "It has a power of 2,200 W, a capacity of 1.7 litres and 3 years of warranty.",
        ),
        false=(
            "The Kelvin kettle holds 1.7 litres and has a warranty of 5 years.",
            "The Joule toaster has a power of 2,200 W and a warranty of 5 years.",
        ),
    ),
    "hr": Case(
        question="How many vacation days and sick days are there?",
        documents=(
            "Full-time staff receive 28 vacation days per year.",
            "Sick leave: up to 12 days per year with full pay.",
            "Interns receive 20 vacation days per year.",
        ),
        true=("Full-time staff receive 28 vacation days, interns receive 20.",),
        false=(
            "Full-time staff receive 20 vacation days, interns receive 28.",
            "Full-time staff receive 12 vacation days per year and up to 28 sick days.",
        ),
    ),
    "rivers": Case(
        question="Compare the Arve and the Lorn.",
        documents=(
            "The Arve is 108 km long and flows through Chamonix.",
            "The Lorn is 74 km long.",
            "The Lorn flows into the Baltic Sea.",
        ),
        true=(
            "The Arve is 108 km long, the Lorn 74 km.",
            "The Arve flows through Chamonix, and the Lorn flows into the Baltic Sea.",
            "The Lorn, 74 km long, flows into the Baltic Sea.",
        ),
        false=(
            "The Arve is 74 km long, the Lorn 108 km.",
            "The Arve flows into the Baltic Sea, and the Lorn flows through Chamonix.",
            "The Lorn, 108 km long, flows into the Baltic Sea.",
        ),
    ),
    "people": Case(
        question="Who founded Lumina and who runs it today?",
        documents=(
            "Lumina was founded in 2004 by Petra Voss.",
            "Since 2019 Lumina has been led by Jonas Reich.",
            "Solaris was founded in 2009 by Ines Kamp.",
        ),
        true=(
            "Lumina, founded in 2004 by Petra Voss, has been led by Jonas Reich since 2019.",
            "Petra Voss founded Lumina in 2004; Jonas Reich has led it since 2019.",
            "Lumina was founded in 2004 and Solaris in 2009.",
        ),
        false=(
            "Lumina, founded in 2004 by Jonas Reich, has been led by Petra Voss since 2019.",
            "Lumina was founded in 2009 and Solaris in 2004.",
            "Lumina, founded in 2004 by Ines Kamp, has been led by Jonas Reich since 2019.",
            "Lumina, founded in 2019 by Petra Voss, has been led by Jonas Reich since 2004.",
        ),
    ),
    "table": Case(
        question="What are the limits?",
        documents=(
            "| Plan | Requests |\n|---|---|\n| Free | 100 |\n| Team | 5,000 |",
            "The Team plan costs 49 dollars a month.",
            "The Free plan has no support.",
        ),
        true=(
            "The Team plan allows 5,000 requests and costs 49 dollars a month.",
            "The Free plan allows 100 requests and has no support.",
        ),
        false=(
            "The Team plan allows 100 requests and costs 49 dollars a month.",
            "The Free plan allows 5,000 requests and has no support.",
            "The Free plan costs 49 dollars a month.",
        ),
    ),
    "de3": Case(
        question="Was kostet das Deutschlandticket und wo gilt es?",
        documents=(
            "Das Deutschlandticket kostet 58 Euro im Monat.",
            "Das Deutschlandticket gilt in allen Regionalzügen.",
            "Das Bayernticket kostet 29 Euro und gilt einen Tag.",
        ),
        true=(
            "Das Deutschlandticket kostet 58 Euro im Monat und gilt in allen Regionalzügen.",
            "Das Deutschlandticket kostet 58 Euro, das Bayernticket 29 Euro.",
        ),
        false=(
            "Das Deutschlandticket kostet 29 Euro im Monat und gilt in allen Regionalzügen.",
            "Das Deutschlandticket kostet 29 Euro, das Bayernticket 58 Euro.",
        ),
    ),
    "zh2": Case(
        question="三星堆和金沙遗址的情况？",
        documents=(
            "三星堆遗址位于四川广汉，发现于1929年。",
            "金沙遗址位于成都，发现于2001年。",
            "三星堆遗址面积约12平方公里。",
        ),
        true=(
            "三星堆遗址发现于1929年，面积约12平方公里。",
            "三星堆遗址发现于1929年，金沙遗址发现于2001年。",
        ),
        false=(
            "三星堆遗址发现于2001年，面积约12平方公里。",
            "三星堆遗址发现于2001年，金沙遗址发现于1929年。",
            "金沙遗址发现于2001年，面积约12平方公里。",
        ),
    ),
}


async def compared(claim: str, case: Case) -> Scores:
    """Compare a claim with the documents of a case by words."""
    sources = tuple(
        Reference(text, f"references[{i}]", label=str(i + 1))
        for i, text in enumerate(case.documents)
    )
    evidence = Evidence(sources=sources, request=Request.of(case.question))
    scorer = References(References.Config(by="words"))
    return await scorer.score(Passage.from_sentences([claim]), evidence)


TRUE = [(name, claim) for name, case in CASES.items() for claim in case.true]
FALSE = [(name, claim) for name, case in CASES.items() for claim in case.false]


@pytest.mark.parametrize(("name", "claim"), TRUE)
async def test_documents_that_say_a_claim_together_support_it(name: str, claim: str) -> None:
    (score,) = (await compared(claim, CASES[name])).sentences
    assert score is not None
    assert score <= 0.5


@pytest.mark.parametrize(("name", "claim"), FALSE)
async def test_values_of_something_else_support_nothing(name: str, claim: str) -> None:
    (score,) = (await compared(claim, CASES[name])).sentences
    assert score is not None
    assert score > 0.5


@pytest.mark.parametrize("invention", ["cost 4 million pounds", "has 31 lamps", "weighs 900 t"])
async def test_one_document_must_say_all_values(invention: str) -> None:
    said = "The Garmo bridge, opened on 3 May 1932, is 212 m long, 25 m wide and built by Ann Moor"
    case = Case(
        question="Tell me about the Garmo bridge.",
        documents=(f"{said}.",),
        true=(f"{said}.",),
        false=(f"{said}, and {invention}.",),
    )
    for claim, is_true in ((case.true[0], True), (case.false[0], False)):
        (score,) = (await compared(claim, case)).sentences
        assert score is not None
        assert (score <= 0.5) is is_true


class Judge:
    """Gives one answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = json.dumps([answer])

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions((Completion(self._answer),))


async def judged(claim: str, case: Case, answer: dict[str, Any]) -> Scores:
    """Compare a claim with the documents of a case by a judge."""
    sources = tuple(Reference(text, f"references[{i}]") for i, text in enumerate(case.documents))
    request = Request.of(case.question, model="judge")
    evidence = Evidence(sources=sources, request=request, judge_provider=Judge(answer))
    return await References().score(Passage.from_sentences([claim]), evidence)


@pytest.mark.parametrize(("name", "claim"), TRUE)
async def test_a_judge_names_all_documents_that_say_a_part(name: str, claim: str) -> None:
    case = CASES[name]
    numbers = list(range(1, len(case.documents) + 1))
    quotes = [text.split(". ")[0] for text in case.documents]
    answer = {"claim": 1, "supported_by": numbers, "contradicted_by": [], "quotes": quotes}
    scores = await judged(claim, case, answer)
    assert scores.sentences == (0.0,)
    assert [ground.reference for ground in scores.grounds[0]] == [n - 1 for n in numbers]


@pytest.mark.parametrize(("name", "claim"), FALSE)
async def test_a_judge_names_the_words_that_no_document_says(name: str, claim: str) -> None:
    words = claim[claim.rfind(" ", 0, len(claim) // 2) + 1 :]
    answer = {"claim": 1, "supported_by": [1], "contradicted_by": [], "unsupported_words": words}
    scores = await judged(claim, CASES[name], answer)
    assert scores.sentences == (1.0,)
    (span,) = scores.spans[0]
    assert claim[span.start : span.end] in words


@given(st.text(alphabet="aB Cé .,;1大|\n", max_size=60), st.text(alphabet="aB Cé.大", max_size=40))
def test_the_stretches_of_a_claim_are_all_of_it(claim: str, document: str) -> None:
    documents = [Reference(text, "a document") for text in (document, claim, "Cé B 1.")]
    subjects = DocumentSubjects(documents, "")
    stretches = subjects.stretches(claim, subjects.of(claim))
    assert (stretches[0].start, stretches[-1].end) == (0, len(claim))
    assert all(first.end == second.start for first, second in pairwise(stretches))


PRODUCTS = [
    ("The X200", "The X300"),
    ("The Model 3", "The Model Y"),
    ("The RTX 4080", "The RTX 4090"),
    ("Gate 12", "Gate 14"),
    ("The WH-1000XM5", "The WH-1000XM4"),
    ("The Pixel 9 Pro", "The Pixel 9"),
    ("The iPhone 15", "The iPhone 16"),
    ("The Acme One", "The Acme Two"),
    ("Nimbus", "Stratos"),
]
QUESTIONS = [
    "Compare {a} and {b}.",
    "Compare the {a} and the {b}.",
    "{a} vs {b}?",
    "What does {a} weigh?",
    "Describe {a}.",
    "Tell me about {b}.",
    "Compare them.",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("first", "second"), PRODUCTS)
def test_by_words_another_products_page_supports_nothing_whatever_the_question_names(
    first: str, second: str, question: str
) -> None:
    pages = [
        f"{first} weighs 1.2 kg. It costs 499 EUR.",
        f"{second} weighs 1.5 kg. It costs 699 EUR.",
    ]
    names = {"a": first.removeprefix("The "), "b": second.removeprefix("The ")}
    asked = question.format(**names)
    true = [f"{first} weighs 1.2 kg.", f"{first} costs 499 EUR.", f"{second} weighs 1.5 kg."]
    false = [f"{first} weighs 1.5 kg.", f"{first} costs 699 EUR.", f"{second} costs 499 EUR."]
    assert not any(is_flagged(claim, pages, asked) for claim in true)
    assert all(is_flagged(claim, pages, asked) for claim in false)


@pytest.mark.parametrize(("first", "second"), PRODUCTS)
def test_by_words_a_follow_up_about_another_product_leaves_the_subject(
    first: str, second: str
) -> None:
    pages = [
        f"{first} weighs 1.2 kg. It costs 499 EUR.",
        f"{second} weighs 1.5 kg. It costs 699 EUR.",
    ]
    conversation = [
        {"role": "user", "content": f"What about {first}?"},
        {"role": "assistant", "content": f"{first} weighs 1.2 kg."},
        {"role": "user", "content": f"And {second}?"},
    ]
    assert not is_flagged(f"{first} costs 499 EUR.", pages, conversation)
    assert is_flagged(f"{first} costs 699 EUR.", pages, conversation)
    assert is_flagged(f"{second} costs 499 EUR.", pages, conversation)


def test_by_words_a_claim_that_begins_with_an_answer_stays_about_the_question() -> None:
    pages = ["Nexar was founded by Lena Voss in 1990.", "Lena Voss was born in Graz in 1961."]
    assert not is_flagged("Lena Voss founded it in 1990.", pages, "Who founded Nexar?")
    assert is_flagged("Lena Voss founded it in 1961.", pages, "Who founded Nexar?")


def test_by_words_millions_of_the_same_are_no_subject_in_common() -> None:
    pages = ["Paris is in France. It has 2.1 million people.", "Lyon has 520,000 people."]
    assert not is_flagged("Paris has 2.1 million people.", pages, "Tell me about France.")
    assert is_flagged("Lyon has 2.1 million people.", pages, "Tell me about France.")


ORDER = '{"id":"A-771","status":"shipped","carrier":"DHL","shipped_at":"2026-05-04"}'


@pytest.mark.parametrize(
    "question", ["Where is my order?", "Where is order A-771?", "What is the status of A-771?"]
)
@pytest.mark.parametrize(
    ("true", "false"),
    [
        (
            "Order A-771 was shipped by DHL on 4 May 2026.",
            "Order A-771 was shipped by UPS on 4 May 2026.",
        ),
        ("The carrier of order A-771 is DHL.", "The carrier of order A-771 is UPS."),
        ("Order A-771 has shipped with DHL.", "Order A-771 has shipped with UPS."),
        ("Your order A-771 was shipped on 4 May 2026.", "Your order was shipped on 5 May 2026."),
    ],
)
def test_by_words_the_fields_of_one_object_say_a_claim_in_any_order(
    question: str, true: str, false: str
) -> None:
    assert not is_flagged(true, [ORDER], question)
    assert is_flagged(false, [ORDER], question)


PEOPLE = {
    "JSON": '[{"name":"Ada","city":"Paris","age":31},{"name":"Bob","city":"Rome","age":44}]',
    "CSV": "name,city,age\nAda,Paris,31\nBob,Rome,44\n",
    "Markdown": "| name | city | age |\n|---|---|---|\n| Ada | Paris | 31 |\n| Bob | Rome | 44 |",
}


@pytest.mark.parametrize("form", PEOPLE)
@pytest.mark.parametrize("question", ["Who are they?", "How old is Bob?", "How old are they?"])
@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("Bob is 44.", "Bob is 31."),
        ("Ada is 31.", "Ada is 44."),
        ("Ada lives in Paris and is 31.", "Bob lives in Rome and is 31."),
        ("Bob is 44 years old.", "Bob is 31 years old."),
    ],
)
def test_by_words_a_bare_number_of_another_row_supports_nothing(
    form: str, question: str, true: str, false: str
) -> None:
    assert not is_flagged(true, [PEOPLE[form]], question)
    assert is_flagged(false, [PEOPLE[form]], question)


@pytest.mark.parametrize(
    ("true", "false"),
    [("Mia scored 3 goals.", "Mia scored 5 goals."), ("Jon scored 5.", "Jon scored 12.")],
)
def test_by_words_a_row_is_about_what_any_field_names(true: str, false: str) -> None:
    table = "player,team,goals\nMia,Reds,3\nJon,Blues,5\nEva,Greens,12\n"
    assert not is_flagged(true, [table], "Who scored?")
    assert is_flagged(false, [table], "Who scored?")


@pytest.mark.parametrize(
    "question", ["Compare X200 and X300.", "Compare the X200 and the X300.", "Which is better?"]
)
@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("The X200 is lighter than the X300.", "The X300 is lighter than the X200."),
        ("The X300 is heavier than the X200.", "The X200 is heavier than the X300."),
        ("The X200 is cheaper than the X300.", "The X300 is cheaper than the X200."),
        ("The X300 is 0.3 kg heavier than the X200.", "The X300 is 0.5 kg heavier than the X200."),
        (
            "The X300 costs 200 EUR more than the X200.",
            "The X300 costs 250 EUR more than the X200.",
        ),
    ],
)
def test_by_words_names_with_digits_are_compared_by_their_values(
    question: str, true: str, false: str
) -> None:
    pages = [
        "The X200 weighs 1.2 kg. It costs 499 EUR.",
        "The X300 weighs 1.5 kg. It costs 699 EUR.",
    ]
    assert not is_flagged(true, pages, question)
    assert is_flagged(false, pages, question)


@pytest.mark.parametrize(("first", "second"), [("RTX 4080", "RTX 4090"), ("Gate 12", "Gate 14")])
@pytest.mark.parametrize("question", ["Compare {a} and {b}.", "Which is better?"])
def test_by_words_an_order_that_words_cannot_compute_is_left_open(
    question: str, first: str, second: str
) -> None:
    pages = [f"The {first} weighs 1.2 kg.", f"The {second} weighs 1.5 kg."]
    asked = question.format(a=first, b=second)
    assert not is_flagged(f"The {first} is lighter than the {second}.", pages, asked)
    assert is_flagged(f"The {second} is 0.9 kg heavier than the {first}.", pages, asked)
    assert is_flagged(f"The {first} is lighter than the Osprey.", pages, asked)


def is_flagged(claim: str, pages: list[str], question: Any) -> bool:
    """Whether a guard without a model flags a claim."""
    guard = Guard({"chain": [{"method": "facts"}]})
    return bool(guard.check(claim, question=question, references=pages).flagged)
