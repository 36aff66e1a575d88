"""Questions made by rule from turns of conversations: no model writes them."""

import re

AUXILIARIES = set("am is are was were have has had do does did will would can could should might must".split())
SPLIT = re.compile(r"(?<=[.!?])\s+|\n+")
FIRST = {"i": "{n}", "my": "{n}'s", "mine": "{n}'s", "me": "{n}", "myself": "{n}", "i'm": "{n} is", "i've": "{n} has",
         "i'd": "{n} would", "i'll": "{n} will", "im": "{n} is", "am": "is"}
SECOND = {"you": "{n}", "your": "{n}'s", "yours": "{n}'s", "yourself": "{n}", "you're": "{n} is", "you've": "{n} has",
          "you'd": "{n} would", "you'll": "{n} will"}
TO_USER = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you've": "I've",
           "you'd": "I'd", "you'll": "I'll", "are": "am"}
THIRD = {"do": "does", "have": "has", "are": "is", "were": "was", "don't": "doesn't", "haven't": "hasn't", "aren't": "isn't"}
PLACES = set("in at to from near into on around".split())
BREAKS = set("but and i i'm i've i'll because so which it's he she they we".split())
EMPTY_VERBS = set("think thinking guess believe hope appreciate wonder wondering know understand see agree looking sure glad".split())
COMMON = set("does have been just some more used make made take took like want need going really also very time thing things get got".split())
NAMES = """Alice Amir Ana Andre Anita Arjun Ben Bianca Bruno Camille Carla Carlos Cathy Chen Chloe Clara Colin Daisy Dana Daniel David
Diego Dora Edith Elena Eli Emma Eric Erin Esther Eva Farah Felix Fiona Frank Gary Grace Greta Hana Hank Harriet Hugo Ida Igor Ines
Iris Ivan Jack Jade James Jane Jasmin Joe Jonas Jose Judy Julia Kai Karen Karl Kate Kenji Kim Lara Laura Leah Leo Lena Lily Linda Liam
Louis Lucy Luis Maja Marco Marie Mark Marta Mary Max Mia Mike Mina Mohamed Nadia Nancy Nick Nina Noah Nora Olga Oliver Omar Oscar
Pablo Pat Paul Paula Pedro Peter Petra Priya Rachel Ralph Ravi Rita Robert Rosa Ruth Ryan Sam Sandra Sara Sean Sofia Steve Susan
Tanya Tara Theo Tina Tom Uma Vera Victor Wanda Will Xavier Yara Yuki Zoe""".split()


class Words:
    """Base forms, synonyms and broader words, from the files of WordNet."""

    def __init__(self, folder):
        self.base, self.synonyms, self.verbs = {}, {}, set()
        for line in open(f"{folder}/verb.exc", encoding="utf-8"):
            form, *bases = line.split()
            self.base.setdefault(form, bases[0])
        for kind in ("noun", "verb"):
            self._read(folder, kind)

    def _read(self, folder, kind):
        groups = {}
        for line in open(f"{folder}/data.{kind}", encoding="utf-8"):
            if line[0] != " ":
                fields = line.split("|")[0].split()
                count = int(fields[3], 16)
                lemmas = [word.lower() for word in fields[4 : 4 + 2 * count : 2]]
                rest = fields[4 + 2 * count :]
                broader = [rest[at + 1] for at in range(1, len(rest) - 3) if rest[at] == "@" and rest[at + 2] == kind[0]]
                groups[fields[0]] = (lemmas, broader[:1])
        for line in open(f"{folder}/index.{kind}", encoding="utf-8"):
            if line[0] != " ":
                fields = line.split()
                word, first = fields[0], fields[-int(fields[2])]
                if kind == "verb":
                    self.verbs.add(word)
                if "_" not in word and len(word) > 2 and first in groups:
                    lemmas, broader = groups[first]
                    found = [lemma for lemma in lemmas if lemma != word]
                    for group in broader if kind == "noun" else []:
                        found += groups.get(group, ([], []))[0][:1]
                    found = [lemma.replace("_", " ") for lemma in found if len(lemma) < 18 and lemma.isascii()]
                    if found:
                        self.synonyms.setdefault(word, []).extend(found[:3])

    def verb_base(self, word):
        """The base of a verb in the past or the third person, with its tense; None if it is no verb in either."""
        if word in self.base and word not in ("being", "doing"):
            return self.base[word], "did"
        for suffix, bases, tense in (("ied", ("y",), "did"), ("ed", ("", "e"), "did"), ("ies", ("y",), "does"), ("es", ("", "e"), "does"), ("s", ("",), "does")):
            if word.endswith(suffix):
                stems = [word[: -len(suffix)] + end for end in bases]
                stems += [stems[0][:-1]] if len(stems[0]) > 3 and stems[0][-1] == stems[0][-2] else []
                for stem in stems:
                    if stem in self.verbs:
                        return stem, tense
        return (word, "do") if word in self.verbs else None


def sentences(text):
    return [part.strip(" *-#>\"") for part in SPLIT.split(text) if 3 < len(part.split()) < 40]


def replaced(sentence, table, name):
    def one(match):
        found = table.get(match.group(0).lower())
        return found.replace("{n}", name) if found else match.group(0)

    return re.sub(r"[A-Za-z]+(?:'[a-z]+)?", one, sentence.replace("’", "'"))


def about_the_other(question, name, to_user):
    """A question that one speaker asks the other, asked about the other: "what do you like" → "what does Ana like"."""
    question = question.replace("’", "'")
    starts = list(re.finditer(r"\b(what|when|where|who|why|how|which|do|does|did|are|have|is|any)\b", question, re.I))
    if not question.endswith("?") or not re.search(r"\byou(r|'re|'ve)?\b", question, re.I) or not starts:
        return None
    question = question[starts[0].start() :]
    if to_user:
        asked = re.sub(r"\bare you\b", "am I", question, flags=re.I)
        asked = replaced(asked, {**TO_USER, "are": "are"}, "I")
    else:
        asked = re.sub(r"\b(do|have|are|were|don't|haven't|aren't)(?= you\b)", lambda found: THIRD[found.group(0).lower()], question, flags=re.I)
        asked = replaced(asked, SECOND, name)
    return asked[0].upper() + asked[1:] if 3 < len(asked.split()) < 25 else None


def from_statement(sentence, name, to_user, words, chance):
    """A question that this sentence of a speaker answers; None if no rule fits."""
    tokens = re.findall(r"[A-Za-z0-9$%'’.\-]+", sentence.replace("’", "'"))
    tokens = [token.strip(".") for token in tokens if token.strip(".")]
    at = next((at for at, token in enumerate(tokens) if token.lower() in ("i", "i'm", "i've", "we", "i'd")), None)
    if at is None or at > 6 or len(tokens) - at < 4:
        return None
    subject, rest = tokens[at].lower(), tokens[at + 1 :]
    while rest and rest[0].lower() in ("just", "also", "really", "actually", "recently", "always", "usually", "finally", "even", "still"):
        rest = rest[1:]
    if len(rest) < 3:
        return None
    head = rest[0].lower()
    who = "I" if to_user else name
    if subject in ("i'm", "i've", "i'd"):
        auxiliary = {"i'm": "am" if to_user else "is", "i've": "have" if to_user else "has", "i'd": "would"}[subject]
    elif head in AUXILIARIES:
        auxiliary, rest = head, rest[1:]
        if not to_user:
            auxiliary = {"am": "is", "have": "has", "are": "is", "were": "was", "do": "does"}.get(auxiliary, auxiliary)
    else:
        found = words.verb_base(head)
        if not found:
            return None
        base, tense = found
        auxiliary = tense if tense == "did" else ("do" if to_user else "does")
        rest = [base, *rest[1:]]
    stop = next((at for at, token in enumerate(rest) if at > 2 and token.lower() in BREAKS), 14)
    rest = rest[: min(stop, 14)]
    if len(rest) < 2 or rest[0].lower() in EMPTY_VERBS:
        return None
    body = " ".join(rest)
    body = replaced(body, {"my": "my" if to_user else "their", "me": "me" if to_user else "them", "myself": "myself" if to_user else "themselves"}, name)
    parts = body.split()
    places = [at for at, part in enumerate(parts) if part in PLACES and at > 1]
    kind = chance.random()
    if places and kind < 0.3:
        return f"Where {auxiliary} {who} {' '.join(parts[: places[-1]])}?"
    if kind < 0.5:
        return f"When {auxiliary} {who} {body}?"
    if kind < 0.75 and len(parts) > 3:
        keep = parts[places[0] :] if places and chance.random() < 0.6 else []
        return f"What {auxiliary} {who} {' '.join([parts[0], *keep])}?"
    lead = chance.choice(["", "Why ", "How ", "Who ", "How often ", "How long "])
    text = f"{lead}{auxiliary} {who} {body}?"
    return text[0].upper() + text[1:]


def varied(question, words, chance, share=0.35):
    """Some content words replaced by synonyms or broader words, some left out."""
    out = []
    for token in question.rstrip("?").split():
        word = token.lower().strip(",.'\"")
        known = words.synonyms.get(word) or words.synonyms.get(word.rstrip("s"))
        if known and len(word) > 3 and token.islower() and word not in COMMON and chance.random() < share:
            out.append(chance.choice(known))
        elif len(word) > 3 and chance.random() < 0.08:
            continue
        else:
            out.append(token)
    return " ".join(out) + ("?" if question.endswith("?") else "")


def keywords(sentence, name, chance, stop):
    found = [word for word in re.findall(r"[A-Za-z0-9]{3,}", sentence) if word.lower() not in stop]
    if len(found) < 2:
        return None
    some = chance.sample(found, min(len(found), chance.randint(2, 4)))
    return " ".join([name, *some] if chance.random() < 0.5 else some)
