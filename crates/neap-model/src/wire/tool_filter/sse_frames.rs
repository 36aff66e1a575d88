//! Splits an event stream into frames that keep their bytes.

/// Longest buffered frame; a longer one is forwarded in pieces.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// One event, or the bytes between two.
#[derive(Debug, Default)]
pub(super) struct SseFrame {
    /// With the empty line that ends it.
    pub(super) raw: Vec<u8>,
    pub(super) name: String,
    /// `None` if the frame has no data or is not UTF-8.
    pub(super) data: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct FrameSplitter {
    buffer: Vec<u8>,
    /// Where the unfinished line begins.
    line: usize,
}

impl FrameSplitter {
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<SseFrame> {
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some(length) = self.buffer[self.line..].iter().position(|byte| *byte == b'\n') {
            let line = &self.buffer[self.line..self.line + length];
            let is_empty = line.is_empty() || line == b"\r";
            self.line += length + 1;
            if is_empty {
                let rest = self.buffer.split_off(self.line);
                frames.push(SseFrame::parse(std::mem::replace(&mut self.buffer, rest)));
                self.line = 0;
            }
        }
        if self.buffer.len() > FRAME_BYTES_MAX {
            frames.push(SseFrame { raw: self.take_unfinished(), ..SseFrame::default() });
        }
        frames
    }

    pub(super) fn take_unfinished(&mut self) -> Vec<u8> {
        self.line = 0;
        std::mem::take(&mut self.buffer)
    }
}

impl SseFrame {
    fn parse(raw: Vec<u8>) -> Self {
        let (mut name, mut data) = (String::new(), None::<String>);
        if let Ok(text) = std::str::from_utf8(&raw) {
            for line in text.trim_start_matches('\u{feff}').lines() {
                let (field, value) = line.split_once(':').unwrap_or((line, ""));
                let value = value.strip_prefix(' ').unwrap_or(value);
                match (field, &mut data) {
                    ("event", _) => value.clone_into(&mut name),
                    ("data", Some(data)) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    ("data", None) => data = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
        Self { raw, name, data }
    }
}

pub(super) fn encode_frame(name: &str, data: &str) -> Vec<u8> {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n").into_bytes()
}
