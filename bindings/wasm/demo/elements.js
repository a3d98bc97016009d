// What is on the page, and how it is filled.

export const at = (id) => document.getElementById(id);

export const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The first digits of a hash. */
export const short = (text) => (typeof text === 'string' ? `${text.slice(0, 16)}…` : 'none');

export function cell(text, kind = '') {
  const td = document.createElement('td');
  td.textContent = text;
  if (kind) td.className = kind;
  return td;
}

export function row(...cells) {
  const tr = document.createElement('tr');
  tr.append(...cells);
  return tr;
}

const percent = (part, all) => `${(Number((part * 10_000n) / all) / 100).toFixed(1)} %`;

/** Who shares the key, and how many shares make a value. */
export function introduce({ stakes, weights, shares, slow, fast }) {
  const amounts = stakes.map(BigInt);
  const all = amounts.reduce((sum, one) => sum + one, 0n);
  at('parties').textContent = amounts.filter((stake) => stake > 0n).length;
  at('shares').textContent = shares;
  const needs = (threshold) => (Number.isSafeInteger(threshold) ? `${threshold} of ${shares} shares` : 'is not used');
  at('slow-needs').textContent = needs(slow);
  at('fast-needs').textContent = needs(fast);
  at('members').replaceChildren(
    ...amounts.map((stake, party) =>
      row(cell(party), cell(stake.toLocaleString('en')), cell(all === 0n ? '–' : percent(stake, all)), cell(weights[party])),
    ),
  );
}

/** Where the same is to be had without this page: paths, what is there, and how the path is written. */
export function link(from, places) {
  at('links').replaceChildren(
    ...places.map(([path, what, written = path]) => {
      const [li, a] = ['li', 'a'].map((name) => document.createElement(name));
      a.href = `${from}${path}`;
      a.textContent = written;
      li.append(a, ` ${what}`);
      return li;
    }),
  );
}

/** What stands for a follower where the page was given nothing to trust: it verifies no value. */
export const unpinned = (name, lacks) => ({
  name,
  lacks,
  check: () => ({ unchecked: `no ${lacks} was given` }),
  free: () => {},
});
