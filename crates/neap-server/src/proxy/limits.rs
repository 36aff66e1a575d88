//! Limits on connections and requests.

use std::time::Duration;

/// Limits on connections and requests. Responses have none here: a model may think
/// long, and only its silence is limited (`upstream`).
#[derive(Debug, Clone)]
pub struct ProxyLimits {
    /// For a complete head; also how long a kept-alive connection may idle.
    pub head_timeout: Duration,
    /// Head including the request line.
    pub head_bytes_max: usize,
    /// Between two frames of a body.
    pub body_frame_timeout: Duration,
    /// For a whole body, plus the time that it takes at `body_bytes_per_second`.
    pub body_timeout: Duration,
    pub body_bytes_per_second: u32,
    pub connections_max: usize,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(30),
            head_bytes_max: 16 << 10,
            body_frame_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(300),
            body_bytes_per_second: 64 << 10,
            connections_max: 2_048,
        }
    }
}
