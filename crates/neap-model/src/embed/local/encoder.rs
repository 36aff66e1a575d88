//! Runs texts through the encoder's layers.

use neap_core::recall::Embedding;
use pulp::{Arch, Simd, WithSimd};

use super::layer::{Gelu, HIDDEN, LayerNorm, Matrix, attention};
use super::weights::{QuantizedTable, TensorFile};
use super::word_pieces::WordPieces;

const LAYERS: usize = 3;
/// Pieces of a text that are read, including `[CLS]` and `[SEP]`.
const PIECES_MAX: usize = 128;
/// Texts share a pass up to this many pieces.
const BATCH_PIECES_MAX: usize = 128;

struct Layer {
    qkv: Matrix,
    out: Matrix,
    attention_norm: LayerNorm,
    ffn_up: Matrix,
    ffn_down: Matrix,
    output_norm: LayerNorm,
}

pub(super) struct Encoder {
    pieces: WordPieces,
    word_embeddings: QuantizedTable<'static>,
    position_embeddings: QuantizedTable<'static>,
    type_embeddings: QuantizedTable<'static>,
    embedding_norm: LayerNorm,
    layers: Vec<Layer>,
    gelu: Gelu,
}

impl Encoder {
    /// The encoder compiled in; `None` if its weights are damaged.
    pub(super) fn built_in() -> Option<Self> {
        let weights = TensorFile::parse(include_bytes!("assets/minilm-l3-q4.safetensors"))?;
        let layer = |number: usize| {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            let qkv_names = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
            Some(Layer {
                qkv: weights.matrix(&qkv_names, HIDDEN, 3 * HIDDEN)?,
                out: weights.matrix(&[name("attention.output.dense")], HIDDEN, HIDDEN)?,
                attention_norm: weights.norm(&name("attention.output.LayerNorm"))?,
                ffn_up: weights.matrix(&[name("intermediate.dense")], HIDDEN, 4 * HIDDEN)?,
                ffn_down: weights.matrix(&[name("output.dense")], 4 * HIDDEN, HIDDEN)?,
                output_norm: weights.norm(&name("output.LayerNorm"))?,
            })
        };
        let table = |name: &str| weights.table(&format!("embeddings.{name}_embeddings.weight"), HIDDEN);
        Some(Self {
            pieces: WordPieces::new(include_str!("assets/vocab.txt")),
            word_embeddings: table("word")?,
            position_embeddings: table("position")?,
            type_embeddings: table("token_type")?,
            embedding_norm: weights.norm("embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(layer).collect::<Option<_>>()?,
            gelu: Gelu::new(),
        })
    }

    pub(super) fn embeddings(&self, texts: &[&str]) -> Vec<Embedding> {
        self.embed(texts).iter().map(|values| Embedding::quantize(values)).collect()
    }

    /// One unit vector per text, in order.
    pub(super) fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut out = Vec::with_capacity(texts.len());
        let (mut batch, mut count) = (Vec::new(), 0);
        for text in texts {
            let pieces = self.pieces.tokenize(text, PIECES_MAX);
            if count + pieces.len() > BATCH_PIECES_MAX {
                out.extend(Arch::new().dispatch(ForwardPass { encoder: self, texts: &batch }));
                batch.clear();
                count = 0;
            }
            count += pieces.len();
            batch.push(pieces);
        }
        out.extend(Arch::new().dispatch(ForwardPass { encoder: self, texts: &batch }));
        out
    }
}

struct ForwardPass<'a> {
    encoder: &'a Encoder,
    texts: &'a [Vec<u32>],
}

impl WithSimd for ForwardPass<'_> {
    type Output = Vec<Vec<f32>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Vec<f32>> {
        let ForwardPass { encoder, texts } = self;
        let mut x = vec![0.0; texts.iter().map(Vec::len).sum::<usize>() * HIDDEN];
        let positions = texts.iter().flat_map(|pieces| pieces.iter().enumerate());
        for ((position, piece), row) in positions.zip(x.chunks_exact_mut(HIDDEN)) {
            encoder.word_embeddings.add_row(*piece as usize, row);
            encoder.position_embeddings.add_row(position, row);
            encoder.type_embeddings.add_row(0, row);
        }
        encoder.embedding_norm.apply(&mut x);
        for layer in &encoder.layers {
            let qkv = layer.qkv.apply(simd, &x);
            let mut attended = vec![0.0; x.len()];
            let (mut qkv, mut rest) = (&qkv[..], &mut attended[..]);
            for pieces in texts {
                let (current, next) = qkv.split_at(pieces.len() * 3 * HIDDEN);
                let (out, rest_out) = rest.split_at_mut(pieces.len() * HIDDEN);
                attention(current, out);
                (qkv, rest) = (next, rest_out);
            }
            add_rows(&mut x, &layer.out.apply(simd, &attended));
            layer.attention_norm.apply(&mut x);
            let mut wide = layer.ffn_up.apply(simd, &x);
            encoder.gelu.apply(&mut wide);
            add_rows(&mut x, &layer.ffn_down.apply(simd, &wide));
            layer.output_norm.apply(&mut x);
        }
        let mut rows = x.chunks_exact(HIDDEN);
        texts.iter().map(|pieces| mean_pool(rows.by_ref().take(pieces.len()))).collect()
    }
}

#[inline(always)]
fn add_rows(to: &mut [f32], added: &[f32]) {
    to.iter_mut().zip(added).for_each(|(to, added)| *to += added);
}

/// The normalized sum of the rows.
fn mean_pool<'a>(rows: impl Iterator<Item = &'a [f32]>) -> Vec<f32> {
    let mut sum = vec![0.0; HIDDEN];
    rows.for_each(|row| add_rows(&mut sum, row));
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
    sum.iter_mut().for_each(|value| *value /= length);
    sum
}
