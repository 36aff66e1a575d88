//! Texts through the layers.

use neap_core::recall::Embedding;
use pulp::{Arch, Simd, WithSimd};

use super::layer::{Gelu, Matrix, Norm, WIDE, attend};
use super::pieces::Pieces;
use super::weights::{Table, Weights};

/// The most layers of an encoder.
const LAYERS_MAX: usize = 48;
/// Pieces of a text that are looked at, the marks at its ends included.
const MOST_PIECES: usize = 128;
/// Texts go through a layer together until they have this many pieces.
const TOGETHER: usize = 128;

struct Layer {
    ask: Matrix,
    mix: Matrix,
    after_mix: Norm,
    widen: Matrix,
    narrow: Matrix,
    after: Norm,
}

/// The encoder with its weights, still packed.
pub(super) struct Encoder {
    pieces: Pieces,
    words: Table<'static>,
    places: Table<'static>,
    kinds: Table<'static>,
    first: Norm,
    layers: Vec<Layer>,
    gelu: Gelu,
}

impl Encoder {
    /// The one compiled in; nothing when its weights are damaged.
    pub(super) fn built_in() -> Option<Self> {
        let weights = Weights::open(include_bytes!("assets/minilm-l3-q4.safetensors"))?;
        Self::of(&weights, Pieces::new(include_str!("assets/vocab.txt")), |table| table)
    }

    /// One out of a file: with as many layers as it has; nothing when its tensors are not those of such an encoder, or not of
    /// such a vocabulary.
    pub(super) fn read(weights: &Weights<'_>, pieces: Pieces) -> Option<Self> {
        Self::of(weights, pieces, Table::owned)
    }

    fn of<'a>(weights: &Weights<'a>, pieces: Pieces, keep: impl Fn(Table<'a>) -> Table<'static>) -> Option<Self> {
        let of_layer = |number: usize, part: &str| format!("encoder.layer.{number}.{part}");
        let layer = |number: usize| {
            let name = |part: &str| of_layer(number, part);
            let asked = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
            Some(Layer {
                ask: weights.matrix(&asked, WIDE, 3 * WIDE)?,
                mix: weights.matrix(&[name("attention.output.dense")], WIDE, WIDE)?,
                after_mix: weights.norm(&name("attention.output.LayerNorm"))?,
                widen: weights.matrix(&[name("intermediate.dense")], WIDE, 4 * WIDE)?,
                narrow: weights.matrix(&[name("output.dense")], 4 * WIDE, WIDE)?,
                after: weights.norm(&name("output.LayerNorm"))?,
            })
        };
        let layers = (0..LAYERS_MAX)
            .take_while(|number| weights.has(&of_layer(*number, "output.LayerNorm.weight")))
            .map(layer)
            .collect::<Option<Vec<_>>>()?;
        let table = |name: &str| weights.table(&format!("embeddings.{name}_embeddings.weight"), WIDE);
        let (words, places, kinds) = (table("word")?, table("position")?, table("token_type")?);
        let fits = words.rows() == pieces.count() && places.rows() >= MOST_PIECES && kinds.rows() > 0;
        if layers.is_empty() || !fits {
            return None;
        }
        Some(Self {
            pieces,
            words: keep(words),
            places: keep(places),
            kinds: keep(kinds),
            first: weights.norm("embeddings.LayerNorm")?,
            layers,
            gelu: Gelu::new(),
        })
    }

    /// The embeddings of texts.
    pub(super) fn embeddings(&self, texts: &[&str]) -> Vec<Embedding> {
        self.embed(texts).iter().map(|values| Embedding::of(values)).collect()
    }

    /// One vector for each text, in order, of length one.
    pub(super) fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut out = Vec::with_capacity(texts.len());
        let (mut waiting, mut count) = (Vec::new(), 0);
        for text in texts {
            let pieces = self.pieces.cut(text, MOST_PIECES);
            if count + pieces.len() > TOGETHER {
                out.extend(Arch::new().dispatch(Pass { encoder: self, texts: &waiting }));
                waiting.clear();
                count = 0;
            }
            count += pieces.len();
            waiting.push(pieces);
        }
        out.extend(Arch::new().dispatch(Pass { encoder: self, texts: &waiting }));
        out
    }
}

/// One pass through the layers of texts cut into pieces.
struct Pass<'a> {
    encoder: &'a Encoder,
    texts: &'a [Vec<u32>],
}

impl WithSimd for Pass<'_> {
    type Output = Vec<Vec<f32>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Vec<f32>> {
        let Pass { encoder, texts } = self;
        let mut x = vec![0.0; texts.iter().map(Vec::len).sum::<usize>() * WIDE];
        let places = texts.iter().flat_map(|pieces| pieces.iter().enumerate());
        for ((place, piece), row) in places.zip(x.chunks_exact_mut(WIDE)) {
            encoder.words.add_row(*piece as usize, row);
            encoder.places.add_row(place, row);
            encoder.kinds.add_row(0, row);
        }
        encoder.first.apply(&mut x);
        for layer in &encoder.layers {
            let asked = layer.ask.apply(simd, &x);
            let mut mixed = vec![0.0; x.len()];
            let (mut asked, mut rest) = (&asked[..], &mut mixed[..]);
            for pieces in texts {
                let (mine, others) = asked.split_at(pieces.len() * 3 * WIDE);
                let (to, later) = rest.split_at_mut(pieces.len() * WIDE);
                attend(mine, to);
                (asked, rest) = (others, later);
            }
            add(&mut x, &layer.mix.apply(simd, &mixed));
            layer.after_mix.apply(&mut x);
            let mut wide = layer.widen.apply(simd, &x);
            encoder.gelu.apply(&mut wide);
            add(&mut x, &layer.narrow.apply(simd, &wide));
            layer.after.apply(&mut x);
        }
        let mut rows = x.chunks_exact(WIDE);
        texts.iter().map(|pieces| direction(rows.by_ref().take(pieces.len()))).collect()
    }
}

#[inline(always)]
fn add(to: &mut [f32], what: &[f32]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += what);
}

/// Where the rows point together, at length one.
fn direction<'a>(rows: impl Iterator<Item = &'a [f32]>) -> Vec<f32> {
    let mut sum = vec![0.0; WIDE];
    rows.for_each(|row| add(&mut sum, row));
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
    sum.iter_mut().for_each(|value| *value /= length);
    sum
}
