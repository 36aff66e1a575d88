"""Plain BM25: stemmed words, stop words left out, nothing else."""

import bm25s
import Stemmer


class Bm25:
    """bm25s builds its index at once, so it is built anew whenever something was added."""

    NOTE = "bm25s, Snowball stemming, k1 1.2, b 0.75; no vectors"
    PACKAGES = ("bm25s",)

    def __init__(self, folder, _vectors):
        self.folder, self.texts, self.index = folder, [], None
        self.stemmer = Stemmer.Stemmer("english")

    def store(self, turns):
        self.texts += [turn.text for turn in turns]
        self.index = None

    def settle(self):
        if self.index is None:
            self.index = bm25s.BM25(k1=1.2, b=0.75)
            self.index.index(self.words(self.texts), show_progress=False)
            self.index.save(self.folder, corpus=self.texts, show_progress=False)

    def search(self, question, limit):
        found, scores = self.index.retrieve(
            self.words([question]), k=min(limit, len(self.texts)), show_progress=False
        )
        return [int(at) for at, score in zip(found[0], scores[0]) if score > 0]

    def close(self):
        pass

    def words(self, texts):
        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)
