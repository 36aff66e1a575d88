//! Draws what a program printed in colour as a picture of a terminal: `docs/demo.svg` is made from `neap demo`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;

const CHAR_WIDTH: f64 = 8.43;
const LINE_HEIGHT: usize = 20;
const LEFT: f64 = 22.0;
const TOP: usize = 56;
const FONT: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// `picture <input> <output.svg> <what it shows>`: the input has the escape sequences of colours.
#[allow(clippy::disallowed_methods, reason = "a picture is made anew")]
pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let [input, output, label] = args else {
        anyhow::bail!("give a file with what was printed, an .svg and a label")
    };
    let text = std::fs::read_to_string(input).with_context(|| format!("cannot read {input}"))?;
    std::fs::write(Path::new(output), draw(&text, label)).with_context(|| format!("cannot write {output}"))
}

fn draw(text: &str, label: &str) -> String {
    let lines: Vec<Vec<Piece>> = text.trim_end().lines().map(pieces).collect();
    let columns =
        lines.iter().map(|line| line.iter().map(|piece| piece.text.chars().count()).sum()).max().unwrap_or(0);
    let (width, height) =
        ((columns as f64 * CHAR_WIDTH + 2.0 * LEFT).ceil(), TOP + lines.len() * LINE_HEIGHT + 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{}\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#101823\"/>\n\
         <circle cx=\"24\" cy=\"22\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"44\" cy=\"22\" r=\"6\" fill=\"#febc2e\"/>\
         <circle cx=\"64\" cy=\"22\" r=\"6\" fill=\"#28c840\"/>\n<g font-family=\"{FONT}\" font-size=\"14\" xml:space=\"preserve\"><style>text{{white-space:pre}}</style>\n",
        escape(label)
    );
    for (row, line) in lines.iter().enumerate() {
        let (mut column, y) = (0, TOP + row * LINE_HEIGHT);
        for piece in line {
            let (chars, blank) = (piece.text.chars().count(), piece.text.trim().is_empty());
            if !blank {
                let (x, length) = (LEFT + column as f64 * CHAR_WIDTH, chars as f64 * CHAR_WIDTH);
                let weight = if piece.is_bold { " font-weight=\"bold\"" } else { "" };
                // Writing to a string cannot fail.
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y}\" fill=\"{}\"{weight} textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
                    piece.colour,
                    escape(&piece.text)
                );
            }
            column += chars;
        }
    }
    svg + "</g>\n</svg>\n"
}

/// Text in one colour.
#[derive(Debug, PartialEq)]
struct Piece {
    text: String,
    colour: &'static str,
    is_bold: bool,
}

fn pieces(line: &str) -> Vec<Piece> {
    let (mut out, mut style): (Vec<Piece>, _) = (Vec::new(), ("#d6deeb", false));
    let mut parts = line.split('\u{1b}');
    let mut push = |text: &str, (colour, is_bold): (&'static str, bool)| {
        if text.is_empty() {
            return;
        }
        match out.last_mut() {
            Some(last) if last.colour == colour && last.is_bold == is_bold => last.text.push_str(text),
            Some(_) | None => out.push(Piece { text: text.to_owned(), colour, is_bold }),
        }
    };
    push(parts.next().unwrap_or_default(), style);
    for part in parts {
        let (codes, text) = part.trim_start_matches('[').split_once('m').unwrap_or(("", part));
        for code in codes.split(';') {
            style = match code {
                "1" => ("#ffffff", true),
                "2" => ("#7f8ea3", style.1),
                "31" => ("#ff7b72", style.1),
                "32" => ("#8bd17c", style.1),
                "36" => ("#6fd3e3", style.1),
                _ => ("#d6deeb", false),
            };
        }
        push(text, style);
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_pieces_of_text() {
        let found = pieces("a \u{1b}[1mb\u{1b}[0m \u{1b}[32mc<\u{1b}[0m");
        let texts: Vec<(&str, bool)> = found.iter().map(|piece| (piece.text.as_str(), piece.is_bold)).collect();
        assert_eq!(texts, [("a ", false), ("b", true), (" ", false), ("c<", false)]);
        assert!(draw("\u{1b}[32mc<\u{1b}[0m", "x").contains("fill=\"#8bd17c\" textLength=\"16.9\""));
    }
}
