// The annotator's page: one dialogue, its questions, every click kept at once.
import { Outbox } from "./outbox.js";
import { duration, textsIn } from "./texts.js";

const secret = decodeURIComponent(location.pathname.split("/").pop());
const byId = (id) => document.getElementById(id);
const channel = new BroadcastChannel(`dialeval-${secret.slice(-12)}`);
let about;
let texts = textsIn("en");
let item = null;
let questions = []; // {criterion, turn, labels, fieldset}
let active = 0;
let last = 0; // the number of the newest click

class Unreachable extends Error {}

async function api(method, path, body) {
  try {
    const answer = await fetch(`/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(20000),
    });
    if (answer.status < 500 && answer.status !== 429) return { status: answer.status, body: await answer.json() };
  } catch { /* cut off, or an answer that is not ours, such as a hotel's sign-in page */ }
  throw new Unreachable();
}

const outbox = new Outbox(secret.slice(-12), send, showState);

async function send(entry) {
  try {
    const { status } = await api("PUT", `/annotation/items/${entry.item}/${entry.kind}`, entry.body);
    if (status === 401) say(texts.revoked);
    if (status === 409 && entry.item === item?.id) queueMicrotask(() => load(texts.gone));
    return "done";
  } catch (error) {
    if (error instanceof Unreachable) return "again";
    throw error;
  }
}

function showState() {
  const waiting = outbox.read().length;
  const state = byId("state");
  state.className = "save-state";
  if (!waiting) state.textContent = item ? texts.saved : "";
  else if (outbox.busy && navigator.onLine && outbox.wait === 500) state.textContent = texts.saving;
  else {
    state.textContent = texts.offline(waiting);
    state.classList.add("off");
  }
}

function say(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}

function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const inLanguage = (map) => map?.[about.language] ?? map?.[about.language.split("-")[0]] ?? map?.en ?? "";
const criterionOf = (id) => about.rubric.criteria.find((c) => c.id === id);

async function start() {
  let answer;
  try {
    answer = await api("GET", "/annotation");
  } catch {
    say(texts.offline(outbox.read().length));
    setTimeout(start, 3000);
    return;
  }
  if (answer.status !== 200) { say(texts.revoked); return; }
  about = answer.body;
  texts = textsIn(about.language);
  document.documentElement.lang = about.language;
  document.title = `${about.title} - dialeval`;
  byId("title").textContent = about.title;
  byId("keys").textContent = texts.keys;
  byId("finish").textContent = texts.finish;
  byId("skip").textContent = texts.skip;
  byId("comment-title").textContent = texts.comment;
  byId("dialogue").setAttribute("aria-label", texts.dialogue);
  if (about.instructions) {
    byId("instructions").hidden = false;
    byId("instructions").open = about.done === 0;
    byId("instructions-title").textContent = texts.instructions;
    byId("instructions-text").textContent = about.instructions;
  }
  say("");
  await load();
}

async function load(message = "") {
  await outbox.flush();
  let answer;
  try {
    answer = await api("POST", "/annotation/item");
  } catch {
    showState();
    setTimeout(() => load(message), 2000);
    return;
  }
  if (answer.status === 401) { rest(texts.revoked); return; }
  if (answer.status !== 200) {
    if (answer.body.code === "closed") rest(texts.closed);
    else setTimeout(() => load(message), 2000);
    return;
  }
  standing(answer.body);
  say(message);
  if (!answer.body.item) { rest(texts.done, texts.doneMore); return; }
  show(answer.body.item);
}

function standing({ done, total, seconds }) {
  byId("progress").max = Math.max(total, 1);
  byId("progress").value = done;
  byId("standing").textContent = `${done} ${texts.of} ${total}`;
  byId("pace").textContent = seconds
    ? texts.pace(duration(seconds), total > done ? duration(seconds * (total - done)) : "")
    : "";
}

function rest(title, more = "") {
  item = null;
  for (const id of ["dialogue", "whole", "close", "feedback"]) byId(id).hidden = true;
  const place = byId("rest");
  place.replaceChildren(made("h2", "", title), made("p", "", more));
  place.hidden = false;
  byId("state").textContent = "";
}

function show(next) {
  clearTimeout(typing);
  typing = null;
  item = next;
  last = Math.max(last, next.sequence); // another device's clock may be ahead of this one's
  questions = next.questions.map((question) => ({ ...question }));
  byId("feedback").hidden = byId("rest").hidden = true;
  for (const id of ["dialogue", "whole", "close"]) byId(id).hidden = false;
  byId("of-turns").hidden = true;
  const chosen = new Map(next.votes.map((vote) => [`${vote.criterion} ${vote.turn}`, vote.label]));
  for (const entry of outbox.read()) {
    if (entry.item === next.id && entry.kind === "votes") {
      chosen.set(`${entry.body.criterion} ${entry.body.turn}`, entry.body.label);
    }
  }
  const whole = byId("whole");
  whole.replaceChildren(made("h2", "", next.practice ? `${texts.practice}: ${texts.whole}` : texts.whole));
  const dialogue = byId("dialogue");
  dialogue.replaceChildren(...next.turns.map(bubble));
  byId("of-turns").replaceChildren(...explained(next));
  for (const [place, question] of questions.entries()) {
    question.fieldset = asked(question, place, chosen.get(`${question.criterion} ${question.turn}`));
    question.fieldset.hidden = question.turn !== null;
    if (question.turn === null) whole.append(question.fieldset);
    else dialogue.children[question.turn].append(question.fieldset);
  }
  whole.hidden = questions.every((question) => question.turn !== null);
  byId("comment").value = outbox.read().find(({ slot }) => slot === `${next.id} comment`)?.body.comment ?? next.comment;
  byId("skip").hidden = next.practice;
  count();
  const unanswered = questions.findIndex((question) => !answerOf(question));
  activate(Math.max(unanswered, 0), false);
  showState();
  scrollTo(0, 0);
  dialogue.focus({ preventScroll: true });
}

// What is asked of turns, once.
function explained(next) {
  const ids = new Set(next.questions.filter(({ turn }) => turn !== null).map(({ criterion }) => criterion));
  const told = (criterion) => inLanguage(criterion.question) || inLanguage(criterion.help);
  return about.rubric.criteria.filter((criterion) => ids.has(criterion.id) && told(criterion)).map((criterion) => {
    const line = made("p", "");
    line.append(made("b", "", `${inLanguage(criterion.name) || criterion.id}: `), inLanguage(criterion.question), " ");
    line.append(made("span", "muted", inLanguage(criterion.help)));
    return line;
  });
}

function bubble(turn) {
  const speaker = Math.max(about.rubric.speakers.indexOf(turn.sender), 0);
  const row = made("div", `bubble side${speaker % 2} speaker${speaker % 4}`);
  const text = made("div", "said");
  text.append(made("div", "sender", inLanguage(about.rubric.speaker_names?.[turn.sender]) || turn.sender));
  for (const utterance of turn.utterances.length ? turn.utterances : [""]) {
    const line = utterance.trim() ? made("p", "", utterance) : made("p", "missing", `(${texts.missing})`);
    line.dir = "auto";
    text.append(line);
  }
  row.append(text);
  return row;
}

function asked(question, place, label) {
  const criterion = criterionOf(question.criterion);
  const fieldset = made("fieldset", "question");
  fieldset.dataset.place = place;
  const name = inLanguage(criterion.name) || criterion.id;
  // What is asked of every turn stands once above them; beside a turn, its name is enough.
  fieldset.append(made("legend", "", question.turn === null ? inLanguage(criterion.question) || name : name));
  const help = inLanguage(criterion.help);
  if (help && question.turn === null) fieldset.append(made("p", "muted help", help));
  // Short labels without explanations, such as a scale's numbers, stand in one row on a phone too.
  const short = question.labels.length <= 7 && question.labels.every((value) => value.length <= 3 && !inLanguage(criterion.meanings?.[value]));
  const answers = made("div", short ? "answers short" : "answers");
  for (const [number, value] of question.labels.entries()) {
    const option = made("label", "answer");
    const radio = made("input");
    radio.type = "radio";
    radio.name = `q${place}`;
    radio.value = value;
    radio.checked = value === label;
    radio.addEventListener("change", () => vote(place, value));
    const meaning = inLanguage(criterion.meanings?.[value]);
    option.append(radio, made("kbd", "", number < 9 ? String(number + 1) : ""), made("b", "", value));
    if (meaning) option.append(made("span", "meaning", meaning));
    answers.append(option);
  }
  fieldset.append(answers);
  fieldset.addEventListener("focusin", () => activate(place, false));
  return fieldset;
}

const answerOf = (question) => question.fieldset.querySelector("input:checked")?.value ?? null;

function vote(place, label) {
  const { criterion, turn } = questions[place];
  last = Math.max(Date.now(), last + 1); // never two clicks with the same number
  const body = { criterion, turn, label, sequence: last };
  outbox.add({ slot: `${item.id} ${criterion} ${turn}`, item: item.id, kind: "votes", sequence: last, body });
  channel.postMessage({ item: item.id, place, label, sequence: last });
  count();
}

function choose(place, label) {
  for (const radio of questions[place].fieldset.querySelectorAll("input")) radio.checked = radio.value === label;
}

// Turns are labelled after the whole was judged, so that nobody counts labels to judge it.
function stage() {
  const judged = questions.every((question) => question.turn !== null || answerOf(question));
  for (const question of questions) {
    if (question.turn !== null && judged) question.fieldset.hidden = false;
  }
  if (judged) byId("of-turns").hidden = !byId("of-turns").childElementCount;
}

function count() {
  stage();
  const left = questions.filter((question) => !answerOf(question)).length;
  byId("left").textContent = texts.left(left);
  byId("finish").classList.toggle("second", left > 0);
}

function activate(place, focus = true) {
  if (!questions.length) return;
  place = Math.min(Math.max(place, 0), questions.length - 1);
  if (questions[place].fieldset.hidden) return;
  active = place;
  for (const question of questions) question.fieldset.classList.remove("active");
  const { fieldset } = questions[active];
  fieldset.classList.add("active");
  if (focus) {
    (fieldset.querySelector("input:checked") ?? fieldset.querySelector("input")).focus({ preventScroll: true });
    fieldset.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}

function onward() {
  const waits = (question) => !question.fieldset.hidden && !answerOf(question);
  const after = questions.findIndex((question, place) => place > active && waits(question));
  const any = after >= 0 ? after : questions.findIndex(waits);
  if (any >= 0) activate(any);
  else {
    byId("finish").focus({ preventScroll: true });
    byId("finish").scrollIntoView({ block: "nearest" });
  }
}

let typing = null;
function keepComment() {
  clearTimeout(typing);
  typing = null;
  if (!item) return;
  last = Math.max(Date.now(), last + 1);
  const body = { comment: byId("comment").value };
  outbox.add({ slot: `${item.id} comment`, item: item.id, kind: "comment", sequence: last, body });
}

async function finish() {
  if (typing) keepComment();
  const missing = questions.findIndex((question) => !answerOf(question));
  if (missing >= 0) { activate(missing); return; }
  const { id } = item;
  byId("finish").disabled = true;
  try {
    await outbox.flush();
    if (item?.id !== id) return; // another tab was faster
    if (outbox.read().length) throw new Unreachable();
    const { status, body } = await api("POST", `/annotation/items/${id}/finish`);
    channel.postMessage({ finished: id });
    if (item?.id !== id) return;
    if (status === 200 && body.feedback.length) reveal(body.feedback);
    else await load(status === 409 ? (body.code === "closed" ? texts.gone : texts.left(body.missing.length)) : "");
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    byId("state").textContent = texts.offline(outbox.read().length);
    byId("state").classList.add("off");
    setTimeout(() => { if (item?.id === id && !byId("finish").disabled) finish(); }, 2000);
  } finally {
    byId("finish").disabled = false;
  }
}

function reveal(feedback) {
  for (const { fieldset } of questions) { // what was said stays readable, and is said
    fieldset.disabled = true;
    fieldset.classList.remove("active");
  }
  for (const id of ["whole", "close"]) byId(id).hidden = true;
  const place = byId("feedback");
  place.replaceChildren(made("h2", "", texts.others));
  for (const one of feedback) {
    const criterion = criterionOf(one.criterion);
    const where = one.turn === null ? "" : ` (${one.turn + 1})`;
    const block = made("div", "revealed");
    block.append(made("h3", "", `${inLanguage(criterion.name) || criterion.id}${where}`));
    const { labels } = questions.find(({ criterion, turn }) => criterion === one.criterion && turn === one.turn);
    for (const label of labels) { // in the order of the scale: an object would put "0" first
      const share = one.others[label];
      const row = made("div", label === one.own ? "share own" : "share");
      const meter = document.createElement("meter");
      meter.max = 1;
      meter.value = share;
      meter.setAttribute("aria-label", label);
      row.append(made("span", "", label === one.own ? `${label} (${texts.own})` : label), meter, made("span", "muted", `${Math.round(share * 100)}%`));
      block.append(row);
    }
    place.append(block);
  }
  const next = made("button", "", texts.next);
  next.type = "button";
  next.addEventListener("click", () => load());
  place.append(next);
  place.hidden = false;
  item = null;
  scrollTo(0, 0);
  next.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  if (!item || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("textarea, summary")) return;
  const { key } = event;
  if (event.repeat && !key.startsWith("Arrow")) { // a key that is held down answers once
    if (event.target.tagName !== "BUTTON") event.preventDefault();
    return;
  }
  if (/^[1-9]$/.test(key)) {
    const label = questions[active]?.labels[Number(key) - 1];
    if (label === undefined) return;
    choose(active, label);
    vote(active, label);
    onward();
  } else if (key === "ArrowDown") activate(active + 1);
  else if (key === "ArrowUp") activate(active - 1);
  else if (key === "Backspace") {
    choose(active, null);
    vote(active, null);
  } else if (key === "Enter" && event.target.tagName !== "BUTTON") onward();
  else return;
  event.preventDefault();
});

byId("finish").addEventListener("click", finish);
byId("skip").addEventListener("click", async () => {
  if (typing) keepComment();
  const { id } = item;
  await outbox.flush();
  const answer = await api("POST", `/annotation/items/${id}/skip`).catch(() => null);
  if (answer) channel.postMessage({ finished: id });
  if (item?.id === id) await load();
});
byId("comment").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(keepComment, 400);
});
for (const moment of ["change", "pagehide"]) addEventListener(moment, () => { if (typing) keepComment(); });

// Another tab answered or finished: this one follows.
channel.addEventListener("message", ({ data }) => {
  if (!item) return;
  if (data.finished === item.id) {
    clearTimeout(typing);
    typing = null;
    load();
  }
  else if (data.item === item.id && questions[data.place]) {
    last = Math.max(last, data.sequence);
    choose(data.place, data.label);
    count();
  }
});
document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !item || outbox.read().length) return;
  const { id } = item;
  const answer = await api("POST", "/annotation/item").catch(() => null);
  if (answer?.status !== 200 || item?.id !== id || outbox.read().length) return;
  if (answer.body.item?.id !== id) { load(); return; }
  last = Math.max(last, answer.body.item.sequence); // it may have been changed on another device
  const kept = new Map(answer.body.item.votes.map((vote) => [`${vote.criterion} ${vote.turn}`, vote.label]));
  for (const [place, { criterion, turn }] of questions.entries()) choose(place, kept.get(`${criterion} ${turn}`));
  count();
});

start();
