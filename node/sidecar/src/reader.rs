//! One open stream: it remembers where it is, and takes the next item when its client has taken the last.
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tonic::Status;

use crate::board::{Board, Shown};
use crate::error::CallError;

/// A stream of a call.
pub(crate) type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The next item of a stream, if it is there.
pub(crate) enum Step<T> {
    /// The next item to send.
    Item(T),
    /// Nothing is there yet.
    Wait,
    /// The client has all that it asked for.
    End,
}

struct Reader<F> {
    board: Arc<Board>,
    changed: watch::Receiver<()>,
    step: F,
    _permit: OwnedSemaphorePermit,
}

/// A stream of what `step` finds, until it ends, fails, or the board stops. Without a client that reads,
/// nothing is looked up and nothing is kept.
pub(crate) fn read<T: Send + 'static>(
    board: &Arc<Board>,
    permit: OwnedSemaphorePermit,
    step: impl FnMut(&Shown) -> Result<Step<T>, CallError> + Send + 'static,
) -> Items<T> {
    let (board, changed) = (Arc::clone(board), board.watch());
    let reader = Reader { board, changed, step, _permit: permit };
    Box::pin(unfold(Some(reader), |reader| async {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(item)) => Some((Ok(item), Some(reader))),
            Ok(None) => None,
            Err(why) => Some((Err(Status::from(why)), None)),
        }
    }))
}

impl<T, F: FnMut(&Shown) -> Result<Step<T>, CallError>> Reader<F> {
    async fn next(&mut self) -> Result<Option<T>, CallError> {
        loop {
            self.changed.borrow_and_update();
            if let Some(done) = self.look()? {
                return Ok(done);
            }
            // The board outlives its readers, so a change can always come.
            self.changed.changed().await.map_err(|_| CallError::ShutDown)?;
        }
    }

    /// `None` if there is nothing yet, `Some(None)` if the stream ends.
    fn look(&mut self) -> Result<Option<Option<T>>, CallError> {
        let shown = self.board.read();
        match (self.step)(&shown)? {
            Step::Item(item) => Ok(Some(Some(item))),
            Step::End => Ok(Some(None)),
            Step::Wait => shown.stopped.clone().map_or(Ok(None), Err),
        }
    }
}
