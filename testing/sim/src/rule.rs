//! Rules that make seats Byzantine.
//!
//! A seat keeps its honest machine. Rules stand between it and the network and rewrite what leaves.
//! Each rule sees one [`Letter`], a message for one recipient, and decides what leaves instead:
//!
//! | to      | push                                                |
//! |---------|-----------------------------------------------------|
//! | pass    | the letter                                          |
//! | drop    | nothing                                             |
//! | delay   | the letter with a larger `delay`                    |
//! | repeat  | the letter and a clone                              |
//! | replace | the letter with another `message` or another `to`   |
//! | inject  | its own letters, here or from [`Rule::wake`]        |
//!
//! The rules of one seat form a chain: what leaves one rule enters the next. The sender cannot be
//! changed, because links are authenticated. For a Byzantine machine with its own code, the host makes
//! `Host::Machine` an enum. A twin takes two seats.

use std::time::Duration;

use prefinal_protocol::Instant;

use crate::dice::Dice;
use crate::host::Seat;
use crate::time::Window;

/// A message on its way to one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter<M> {
    /// The recipient.
    pub to: Seat,
    /// The message.
    pub message: M,
    /// How long the letter waits before it leaves.
    pub delay: Duration,
}

/// What a rule may know: its seat, the time, and randomness that can be replayed.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The Byzantine seat.
    pub seat: Seat,
    /// The current virtual time.
    pub now: Instant,
    /// Number of seats.
    pub seats: u32,
    /// The simulation's random generator.
    pub dice: &'a mut Dice,
}

/// The behaviour of a Byzantine seat.
pub trait Rule<M> {
    /// Pushes onto `leaves` the letters that leave instead of `letter`.
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>);

    /// When to call [`wake`](Self::wake), if ever. Called again after each call of this rule.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    /// Pushes letters that no step of the machine asked for. It must move `wake_at` on.
    fn wake(&mut self, _scene: &mut Scene<'_>, _leaves: &mut Vec<Letter<M>>) {}
}

impl<M, R: Rule<M> + ?Sized> Rule<M> for Box<R> {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        (**self).outgoing(scene, letter, leaves);
    }

    fn wake_at(&self) -> Option<Instant> {
        (**self).wake_at()
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        (**self).wake(scene, leaves);
    }
}

/// A rule from a function with the signature of [`Rule::outgoing`].
pub fn from_fn<M>(
    outgoing: impl FnMut(&mut Scene<'_>, Letter<M>, &mut Vec<Letter<M>>),
) -> impl Rule<M> {
    FromFn(outgoing)
}

struct FromFn<F>(F);

impl<M, F: FnMut(&mut Scene<'_>, Letter<M>, &mut Vec<Letter<M>>)> Rule<M> for FromFn<F> {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        (self.0)(scene, letter, leaves);
    }
}

/// Drops the letters that `which` picks.
pub fn drop_when<M>(mut which: impl FnMut(&mut Scene<'_>, &Letter<M>) -> bool) -> impl Rule<M> {
    from_fn(move |scene, letter, leaves| {
        if !which(scene, &letter) {
            leaves.push(letter);
        }
    })
}

/// Drops every letter. The seat does not notice, so it is like a crash that only others see.
pub fn mute<M>() -> impl Rule<M> {
    drop_when(|_, _| true)
}

/// Delays the letters that `which` picks by this additional time.
pub fn delay_when<M>(
    by: Duration,
    mut which: impl FnMut(&mut Scene<'_>, &Letter<M>) -> bool,
) -> impl Rule<M> {
    from_fn(move |scene, mut letter, leaves| {
        if which(scene, &letter) {
            letter.delay = letter.delay.saturating_add(by);
        }
        leaves.push(letter);
    })
}

/// Sends the letters that `which` picks `times` more times, each `gap` after the one before.
pub fn repeat_when<M: Clone>(
    times: u32,
    gap: Duration,
    mut which: impl FnMut(&mut Scene<'_>, &Letter<M>) -> bool,
) -> impl Rule<M> {
    from_fn(move |scene, letter: Letter<M>, leaves| {
        if which(scene, &letter) {
            for count in 1..=times {
                let delay = letter.delay.saturating_add(gap.saturating_mul(count));
                leaves.push(Letter { delay, ..letter.clone() });
            }
        }
        leaves.push(letter);
    })
}

/// Sends some recipients another message: `instead` gives it, or `None` to pass the letter on.
pub fn equivocate<M>(
    mut instead: impl FnMut(&mut Scene<'_>, Seat, &M) -> Option<M>,
) -> impl Rule<M> {
    from_fn(move |scene, mut letter: Letter<M>, leaves| {
        if let Some(other) = instead(scene, letter.to, &letter.message) {
            letter.message = other;
        }
        leaves.push(letter);
    })
}

/// Sends these letters once at this time, whatever the machine does.
pub fn inject<M>(at: Instant, letters: Vec<Letter<M>>) -> impl Rule<M> {
    Inject { at, letters }
}

struct Inject<M> {
    at: Instant,
    letters: Vec<Letter<M>>,
}

impl<M> Rule<M> for Inject<M> {
    fn outgoing(&mut self, _: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        leaves.push(letter);
    }

    fn wake_at(&self) -> Option<Instant> {
        (!self.letters.is_empty()).then_some(self.at)
    }

    fn wake(&mut self, _: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        leaves.append(&mut self.letters);
    }
}

/// Applies a rule inside a window. Outside it, letters pass and the rule does not wake.
pub fn during<M>(window: Window, rule: impl Rule<M>) -> impl Rule<M> {
    During { window, rule }
}

struct During<R> {
    window: Window,
    rule: R,
}

impl<M, R: Rule<M>> Rule<M> for During<R> {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        if self.window.holds(scene.now) {
            self.rule.outgoing(scene, letter, leaves);
        } else {
            leaves.push(letter);
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let at = self.rule.wake_at()?.max(self.window.from);
        self.window.holds(at).then_some(at)
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        self.rule.wake(scene, leaves);
    }
}

/// All rules of one seat, in the order in which they were added.
pub(crate) struct Chain<M> {
    rules: Vec<Box<dyn Rule<M>>>,
}

impl<M> Chain<M> {
    pub(crate) const fn new() -> Self {
        Self { rules: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(crate) fn push(&mut self, rule: Box<dyn Rule<M>>) {
        self.rules.push(rule);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.rules.iter().filter_map(|rule| rule.wake_at()).min()
    }

    /// The letters that leave instead of `letters`.
    pub(crate) fn outgoing(
        &mut self,
        scene: &mut Scene<'_>,
        letters: Vec<Letter<M>>,
    ) -> Vec<Letter<M>> {
        through(&mut self.rules, scene, letters)
    }

    /// Wakes the rules that are due. Letters that one injects enter the rules after it.
    pub(crate) fn wake(&mut self, scene: &mut Scene<'_>) -> Vec<Letter<M>> {
        let mut leaves = Vec::new();
        for position in 0..self.rules.len() {
            let Some((rule, rest)) =
                self.rules.get_mut(position..).and_then(|tail| tail.split_first_mut())
            else {
                break;
            };
            if rule.wake_at().is_some_and(|at| at <= scene.now) {
                let mut injected = Vec::new();
                rule.wake(scene, &mut injected);
                leaves.append(&mut through(rest, scene, injected));
            }
        }
        leaves
    }
}

fn through<M>(
    rules: &mut [Box<dyn Rule<M>>],
    scene: &mut Scene<'_>,
    letters: Vec<Letter<M>>,
) -> Vec<Letter<M>> {
    rules.iter_mut().fold(letters, |letters, rule| {
        let mut leaves = Vec::new();
        for letter in letters {
            rule.outgoing(scene, letter, &mut leaves);
        }
        leaves
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_MS: Duration = Duration::from_millis(1);

    fn letter(to: u32, message: u32) -> Letter<u32> {
        Letter { to: Seat::new(to), message, delay: Duration::ZERO }
    }

    fn chain(rules: Vec<Box<dyn Rule<u32>>>) -> Chain<u32> {
        Chain { rules }
    }

    fn at(chain: &mut Chain<u32>, now: Duration, letters: Vec<Letter<u32>>) -> Vec<Letter<u32>> {
        let mut dice = Dice::new(1);
        let (seat, now) = (Seat::new(9), Instant::at(now));
        let mut scene = Scene { seat, now, seats: 10, dice: &mut dice };
        let mut leaves = chain.wake(&mut scene);
        leaves.append(&mut chain.outgoing(&mut scene, letters));
        leaves
    }

    #[test]
    fn each_rule_does_what_its_name_says() {
        let both = || vec![letter(0, 7), letter(1, 7)];
        let to_first = |_: &mut Scene<'_>, letter: &Letter<u32>| letter.to.get() == 0;
        let run = |rule: Box<dyn Rule<u32>>| at(&mut chain(vec![rule]), Duration::ZERO, both());
        assert_eq!(run(Box::new(mute())), []);
        assert_eq!(run(Box::new(drop_when(to_first))), [letter(1, 7)]);
        let delayed = Letter { delay: ONE_MS, ..letter(0, 7) };
        let passed = letter(1, 7);
        assert_eq!(run(Box::new(delay_when(ONE_MS, to_first))), [delayed.clone(), passed.clone()]);
        assert_eq!(
            run(Box::new(repeat_when(1, ONE_MS, to_first))),
            [delayed, letter(0, 7), passed]
        );
        let lie = |_: &mut Scene<'_>, to: Seat, message: &u32| (to.get() == 1).then(|| message + 1);
        assert_eq!(run(Box::new(equivocate(lie))), [letter(0, 7), letter(1, 8)]);
    }

    #[test]
    fn rules_chain_in_the_order_given() {
        let double = || equivocate(|_: &mut Scene<'_>, _, message: &u32| Some(message * 2));
        let add = || equivocate(|_: &mut Scene<'_>, _, message: &u32| Some(message + 1));
        let mut chain = chain(vec![Box::new(double()), Box::new(add())]);
        assert_eq!(at(&mut chain, Duration::ZERO, vec![letter(0, 5)]), [letter(0, 11)]);
    }

    #[test]
    fn what_is_injected_passes_the_rules_behind_it_once() {
        let due = Instant::at(ONE_MS);
        let add = || equivocate(|_: &mut Scene<'_>, _, message: &u32| Some(message + 1));
        let inject = inject(due, vec![letter(3, 1)]);
        let mut chain = chain(vec![Box::new(add()), Box::new(inject), Box::new(add())]);
        assert_eq!(chain.wake_at(), Some(due));
        assert_eq!(at(&mut chain, Duration::ZERO, vec![]), []);
        assert_eq!(at(&mut chain, ONE_MS, vec![letter(0, 1)]), [letter(3, 2), letter(0, 3)]);
        assert_eq!((chain.wake_at(), at(&mut chain, ONE_MS, vec![])), (None, vec![]));
    }

    #[test]
    fn a_window_bounds_a_rule_and_its_injections() {
        let window = Window::new(Instant::at(ONE_MS), Instant::at(ONE_MS * 2));
        let mut muted = chain(vec![Box::new(during(window, mute()))]);
        for (now, passes) in [(0, true), (1, false), (2, true)] {
            let leaves = at(&mut muted, ONE_MS * now, vec![letter(0, 1)]);
            assert_eq!(!leaves.is_empty(), passes, "at {now} ms");
        }
        let early = inject(Instant::START, vec![letter(0, 1)]);
        assert_eq!(during(window, early).wake_at(), Some(Instant::at(ONE_MS)));
        let late = inject(Instant::at(ONE_MS * 2), vec![letter(0, 1)]);
        assert_eq!(during(window, late).wake_at(), None);
    }
}
