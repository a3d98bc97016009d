//! Persist, then send: what [`Journaled`] does with a machine of few words.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use prefinal_journal::{Journal, JournalError, JournalOperation, Journaled, Memory, OpenError};
use prefinal_protocol::{Instant, Machine, Output};

/// Says what it is told to say.
#[derive(Default)]
struct Echo(VecDeque<Word>);

type Word = Output<u32, u32>;

impl Machine for Echo {
    type Input = Vec<Word>;
    type Record = u32;
    type Effect = u32;

    fn handle(&mut self, _: Instant, words: Vec<Word>) {
        self.0.extend(words);
    }

    fn poll(&mut self) -> Option<Word> {
        self.0.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

/// What happened, in order; fails at the operation with this number.
#[derive(Clone, Default)]
struct Watched {
    memory: Memory,
    seen: Rc<RefCell<Vec<String>>>,
    fails_at: Option<usize>,
}

impl Watched {
    fn see(&self, doing: JournalOperation, what: String) -> Result<(), JournalError> {
        let at = self.seen.borrow().len();
        self.seen.borrow_mut().push(what);
        if self.fails_at == Some(at) {
            return Err(JournalError::storage(doing, "the disk is gone"));
        }
        Ok(())
    }
}

impl Journal for Watched {
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.see(JournalOperation::Append, format!("append {}", record[0]))?;
        self.memory.append(record)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.see(JournalOperation::Sync, "sync".to_owned())?;
        self.memory.sync()
    }

    fn replay(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        self.memory.replay()
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        self.see(JournalOperation::Replace, format!("replace by {}", records.len()))?;
        self.memory.replace(records)
    }
}

fn open(journal: Watched) -> Journaled<Echo, Watched> {
    Journaled::open(journal, |_| Ok::<_, ()>(Echo::default())).unwrap()
}

/// All effects, noted between what the journal saw.
fn run(journaled: &mut Journaled<Echo, Watched>, words: &[Word]) -> Result<(), JournalError> {
    journaled.handle(Instant::START, words.to_vec())?;
    while let Some(effect) = journaled.poll()? {
        let seen = &journaled.journal().seen;
        seen.borrow_mut().push(format!("do {effect}"));
    }
    Ok(())
}

#[test]
fn records_that_are_added_at_the_start_are_durable_before_the_machine_is_made() {
    let open = |journal: Watched, more: &'static [u32]| {
        let seen = Rc::clone(&journal.seen);
        let make = |records: Vec<u32>| {
            seen.borrow_mut().push(format!("make {records:?}"));
            Ok::<_, ()>(Echo::default())
        };
        let opened = Journaled::open_behind(journal, |_| more.to_vec(), make);
        opened.map(|journaled| journaled.close().unwrap())
    };
    let journal = open(Watched::default(), &[1, 2]).unwrap();
    assert_eq!(*journal.seen.borrow(), ["append 1", "append 2", "sync", "make [1, 2]", "sync"]);
    journal.seen.borrow_mut().clear();
    let journal = open(journal, &[]).unwrap();
    assert_eq!(*journal.seen.borrow(), ["make [1, 2]", "sync"]);
    // A disk that fails in between makes no machine.
    journal.seen.borrow_mut().clear();
    let broken = Watched { fails_at: Some(1), ..journal };
    let seen = Rc::clone(&broken.seen);
    assert!(matches!(open(broken, &[3]), Err(OpenError::Journal(_))));
    assert_eq!(*seen.borrow(), ["append 3", "sync"]);
}

#[test]
fn records_that_follow_each_other_share_one_sync() {
    use Output::{Do, Keep, Note};
    let mut journaled = open(Watched::default());
    let words = [Do(0), Keep(1), Note(2), Keep(3), Do(4), Do(5), Note(6), Do(7), Keep(8)];
    run(&mut journaled, &words).unwrap();
    let expected = [
        "do 0", "append 1", "append 2", "append 3", "sync", "do 4", "do 5", "append 6", "do 7",
        "append 8", "sync",
    ];
    assert_eq!(*journaled.journal().seen.borrow(), expected);
    // A note alone costs no sync, and closing loses none.
    run(&mut journaled, &[Note(9)]).unwrap();
    assert_eq!(journaled.journal().memory.durable(), 5);
    assert_eq!(journaled.close().unwrap().memory.durable(), 6);
}

#[test]
fn nothing_leaves_after_the_journal_failed() {
    use Output::{Do, Keep};
    let words = [Keep(1), Keep(2), Do(3), Keep(4), Do(5)];
    let mut whole = open(Watched::default());
    run(&mut whole, &words).unwrap();
    let operations = whole.journal().seen.borrow().clone();
    for (at, operation) in operations.iter().enumerate().filter(|(_, one)| !one.starts_with("do")) {
        let mut journaled = open(Watched { fails_at: Some(at), ..Watched::default() });
        let first = run(&mut journaled, &words).unwrap_err().to_string();
        assert!(first.contains("the disk is gone"), "{first}");
        let heard = journaled.journal().seen.borrow().clone();
        assert_eq!(heard, operations[..=at], "after a failed {operation}");
        // For good, and everybody learns why.
        assert_eq!(journaled.poll().unwrap_err().to_string(), first);
        let refused = journaled.handle(Instant::START, vec![Do(6)]).unwrap_err();
        assert_eq!(refused.to_string(), first);
        assert_eq!(*journaled.journal().seen.borrow(), heard);
        assert_eq!(journaled.close().err().map(|error| error.to_string()), Some(first));
    }
}

/// A summary knows of all that was done; taken before an effect is out, it could lose it.
#[test]
fn a_summary_is_taken_only_when_all_is_out() {
    use Output::{Do, Keep, Note};
    let summary: fn(&Echo) -> Vec<u32> = |_| vec![100, 101];
    let mut journaled = open(Watched::default()).shortened(3, summary);
    run(&mut journaled, &[Keep(1), Do(2), Note(3), Note(4), Do(5), Note(6), Do(7)]).unwrap();
    let expected = [
        "append 1",
        "sync",
        "do 2",
        "append 3",
        "append 4",
        "do 5",
        "append 6",
        "do 7",
        "replace by 2",
    ];
    assert_eq!(*journaled.journal().seen.borrow(), expected);
    run(&mut journaled, &[Keep(8)]).unwrap();
    let records = journaled.close().unwrap().replay().unwrap();
    assert_eq!(records, [100_u32, 101, 8].map(|number| borsh::to_vec(&number).unwrap()));
}

#[test]
fn a_record_of_another_machine_is_an_error() {
    let mut journal = Watched::default();
    journal.append(&borsh::to_vec(&7_u32).unwrap()).unwrap();
    journal.append(&[1, 2, 3, 4, 5]).unwrap();
    let opened = Journaled::<Echo, _>::open(journal, |_| Ok::<_, ()>(Echo::default()));
    let Err(OpenError::Journal(JournalError::Record { index: 1, bytes: 5, .. })) = opened else {
        panic!("opened");
    };
}
