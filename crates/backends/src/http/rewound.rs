//! A connection whose last exchange is played once more for `hyper`: the request that it writes was written already
//! and goes nowhere, and what came in answer is read from the beginning.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use hyper::rt::{Read, ReadBufCursor, Write};

use super::pool::Io;

#[derive(Debug)]
pub(super) struct Rewound {
    io: Io,
    repeated: Repeated,
    /// What was read before and is read again, and how far that went.
    before: Vec<u8>,
    at: usize,
    /// Who waits for the answer before the request was repeated.
    reader: Option<Waker>,
}

/// How far the request has been repeated.
#[derive(Debug)]
enum Repeated {
    /// In the head; so many bytes of the empty line at its end were seen.
    Head {
        end_bytes: usize,
        body_bytes: usize,
    },
    Body {
        left: usize,
    },
    Whole,
}

/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

impl Rewound {
    /// A connection on which nothing has happened.
    pub(super) fn fresh(io: Io) -> Self {
        Self {
            io,
            repeated: Repeated::Whole,
            before: Vec::new(),
            at: 0,
            reader: None,
        }
    }

    /// One on which a request was written whose body has so many bytes, and `before` was read.
    pub(super) fn new(io: Io, before: Vec<u8>, body_bytes: usize) -> Self {
        Self {
            before,
            repeated: Repeated::Head {
                end_bytes: 0,
                body_bytes,
            },
            ..Self::fresh(io)
        }
    }

    /// Takes what repeats the request off the front of what is written.
    fn repeat(&mut self, written: &[u8]) -> usize {
        let taken = self.repeated.take(written);
        if matches!(self.repeated, Repeated::Whole)
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
        taken
    }
}

impl Repeated {
    fn take(&mut self, written: &[u8]) -> usize {
        let mut taken = 0;
        if let Self::Head {
            end_bytes,
            body_bytes,
        } = self
        {
            while *end_bytes < END.len() && taken < written.len() {
                let byte = written[taken];
                taken += 1;
                *end_bytes = match byte {
                    byte if byte == END[*end_bytes] => *end_bytes + 1,
                    b'\r' => 1,
                    _ => 0,
                };
            }
            if *end_bytes == END.len() {
                *self = Self::Body { left: *body_bytes };
            }
        }
        if let Self::Body { left } = self {
            let body = (*left).min(written.len() - taken);
            *left -= body;
            taken += body;
            if *left == 0 {
                *self = Self::Whole;
            }
        }
        taken
    }
}

impl Read for Rewound {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !matches!(self.repeated, Repeated::Whole) {
            // An answer before its request would be taken for one that nobody asked for.
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        if self.at < self.before.len() {
            let rest = &self.before[self.at..];
            let piece = rest.len().min(buffer.remaining());
            buffer.put_slice(&rest[..piece]);
            self.at += piece;
            if self.at == self.before.len() {
                (self.before, self.at) = (Vec::new(), 0);
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Rewound {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.repeat(bytes) {
            0 => Pin::new(&mut self.io).poll_write(context, bytes),
            repeated => Poll::Ready(Ok(repeated)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let repeated = pieces.iter().map(|piece| self.repeat(piece)).sum();
        match repeated {
            0 => Pin::new(&mut self.io).poll_write_vectored(context, pieces),
            repeated => Poll::Ready(Ok(repeated)),
        }
    }
}
