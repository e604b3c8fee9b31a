"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  for (const one of document.querySelectorAll("[data-js]")) one.hidden = false;

  const toggle = $("theme");
  if (toggle) {
    const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const name = () => { $("theme-name").textContent = dark() ? "Light" : "Dark"; };
    toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
    name();
  }

  document.addEventListener("click", (event) => {
    const shot = event.target.closest("button.shot");
    if (!shot) return;
    const big = shot.parentElement.classList.toggle("big");
    shot.setAttribute("aria-expanded", String(big));
  });

  const list = $("list");
  if (!list) return;
  const rows = [...list.children];
  const fields = { find: $("find"), answer: $("answer"), type: $("type"), outcome: $("outcome"), order: $("order") };
  // With a script at work the browser takes what is in <noscript> for one text, so a page of many questions
  // opens at once; a question becomes elements when it is opened. The text is as escaped as if it had been.
  const fill = (row) => {
    const kept = row.querySelector(":scope > noscript");
    if (!kept) return;
    kept.insertAdjacentHTML("afterend", kept.textContent);
    kept.remove();
  };
  const marks = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" };
  const plain = (markup) => markup.replace(/&(?:amp|lt|gt|#34|#39);/g, (mark) => marks[mark]);
  const texts = new Map();
  for (const row of rows) {
    row.addEventListener("toggle", () => {
      if (!row.open) return;
      fill(row);
      history.replaceState(null, "", `#${row.dataset.anchor}`);
    });
  }
  const textOf = (row) => {
    if (!texts.has(row)) {
      const kept = row.querySelector(":scope > noscript");
      const parts = kept
        ? [...kept.textContent.matchAll(/ data-find>([^<]*)/g)].map((part) => plain(part[1]))
        : [...row.querySelectorAll("[data-find]")].map((part) => part.textContent);
      texts.set(row, [row.firstElementChild.textContent, ...parts].join("\n").toLowerCase());
    }
    return texts.get(row);
  };
  const answers = {
    "": () => true,
    flips: (data) => data.flip !== "",
    a: (data) => data.flip === "a",
    b: (data) => data.flip === "b",
  };
  const fits = (row, words) => {
    const data = row.dataset;
    const answer = fields.answer.value;
    if (!(answers[answer] ? answers[answer](data) : data.marks.split(" ").includes(answer))) return false;
    if (fields.type.value && data.type !== fields.type.value) return false;
    const outcome = fields.outcome.value;
    if (outcome && !` ${data.outcomes} `.includes(` ${outcome} `)) return false;
    return words.every((word) => textOf(row).includes(word));
  };
  const filter = () => {
    const words = fields.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row, words);
      shown += !row.hidden;
    }
    const all = shown === rows.length;
    $("count").textContent = all ? `${shown} ${shown === 1 ? "question" : "questions"}` : `${shown} of ${rows.length}`;
    $("clear").hidden = all && !words.length;
    $("none").hidden = shown > 0 || !rows.length;
  };
  const order = () => {
    const key = fields.order.value;
    const sorted = key ? [...rows].sort((one, other) => other.dataset[key] - one.dataset[key]) : rows;
    list.append(...sorted);
  };
  const clear = () => {
    for (const name of ["find", "answer", "type", "outcome"]) fields[name].value = "";
    filter();
  };
  for (const name of ["answer", "type", "outcome"]) fields[name].addEventListener("change", filter);
  fields.find.addEventListener("input", filter);
  fields.order.addEventListener("change", order);
  fields.find.form.addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", clear);
  for (const one of document.querySelectorAll("[data-set-answer]")) {
    one.addEventListener("click", () => {
      clear();
      fields.answer.value = one.dataset.setAnswer;
      filter();
      $("questions").scrollIntoView();
    });
  }

  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const row = rows.find((one) => one.dataset.anchor === id);
    if (!row) return;
    if (row.hidden) clear();
    fill(row);
    row.open = true;
    row.scrollIntoView();
    row.firstElementChild.focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);

  const step = (by) => {
    const visible = [...list.children].filter((row) => !row.hidden);
    const at = visible.indexOf(document.activeElement?.closest?.(".q"));
    const next = visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : Math.min(visible.length - 1, Math.max(0, at + by))];
    if (!next) return;
    next.firstElementChild.focus({ preventScroll: true });
    next.scrollIntoView({ block: next.open ? "start" : "nearest" });
  };
  const closeAll = (row) => {
    for (const one of rows) one.open = false;
    if (!row) return;
    row.firstElementChild.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (event.key === "Escape" && target.matches(".toolbar input, .toolbar select")) {
      if (target === fields.find && target.value) {
        target.value = "";
        filter();
      }
      // Where the focus stayed in the field, the other keys would be typed into it.
      target.blur();
      event.preventDefault();
      return;
    }
    if (target.matches("input, select, textarea")) return;
    const onRow = target.matches(".q > summary");
    const moves = { j: 1, k: -1, ...(onRow ? { ArrowDown: 1, ArrowUp: -1 } : {}) };
    if (event.key in moves) step(moves[event.key]);
    else if (event.key === "/") fields.find.focus();
    else if (event.key === "x") closeAll(target.closest(".q"));
    else return;
    event.preventDefault();
  });

  // Rows of a long list are laid out as they come into view, and soon after all others, in slices that nobody
  // notices: a picture of the whole page has to show them.
  const SLICE = 60;
  const later = self.requestIdleCallback ?? ((run) => setTimeout(run, 30));
  const draw = (from) => {
    for (const row of rows.slice(from, from + SLICE)) row.classList.add("drawn");
    if (from + SLICE < rows.length) later(() => draw(from + SLICE), { timeout: 500 });
  };
  draw(0);
  filter();
  follow();
})();
