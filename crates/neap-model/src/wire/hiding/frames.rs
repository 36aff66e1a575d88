//! A stream of events as it came, event by event: what is not changed is passed on byte for byte.

/// Longest event, in bytes; more is passed on as it comes.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// One event, or what stands between two.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// As it came, with the empty line that ends it.
    pub(super) raw: Vec<u8>,
    pub(super) name: String,
    /// None where it carries nothing, or what is no text.
    pub(super) data: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    /// Where the line begins that is not whole yet.
    line: usize,
}

impl Frames {
    /// Takes bytes, gives the events that are whole now.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Frame> {
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some(length) = self.buffer[self.line..].iter().position(|byte| *byte == b'\n') {
            let line = &self.buffer[self.line..self.line + length];
            let is_empty = line.is_empty() || line == b"\r";
            self.line += length + 1;
            if is_empty {
                let rest = self.buffer.split_off(self.line);
                frames.push(Frame::of(std::mem::replace(&mut self.buffer, rest)));
                self.line = 0;
            }
        }
        if self.buffer.len() > FRAME_BYTES_MAX {
            frames.push(Frame { raw: self.take(), ..Frame::default() });
        }
        frames
    }

    /// What has come of an event that has not ended.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.line = 0;
        std::mem::take(&mut self.buffer)
    }
}

impl Frame {
    fn of(raw: Vec<u8>) -> Self {
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

/// An event as it is written.
pub(super) fn written(name: &str, data: &str) -> Vec<u8> {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n").into_bytes()
}
