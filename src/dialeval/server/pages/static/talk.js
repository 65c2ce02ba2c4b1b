// The tester's page: a talk with a system that stays hidden, turn by turn.
const secret = decodeURIComponent(location.pathname.split("/").pop());
const byId = (id) => document.getElementById(id);
const TEXTS = {
  en: {
    first: "Begin with this sentence", more: "Go on", send: "Send", end: "End the talk",
    left: (n) => `${n} ${n === 1 ? "turn" : "turns"} left`, done: (n) => `${n} ${n === 1 ? "talk" : "talks"} done`,
    ended: "The talk has ended.", next: "Next talk", none: "All talks are had. Thank you.",
    failed: "The system did not answer. You can ask it once more.", again: "Ask once more", giveUp: "Give up on this talk",
    offline: "No connection to the server. What you said is kept; trying again.", revoked: "This link does not work any more.",
    you: "You", system: "System", waiting: "…", stopped: "(no reply)",
  },
  zh: {
    first: "请从这句话开始", more: "继续", send: "发送", end: "结束对话",
    left: (n) => `还剩 ${n} 轮`, done: (n) => `已完成 ${n} 个对话`,
    ended: "对话已结束。", next: "下一个对话", none: "所有对话都已完成，谢谢。",
    failed: "系统没有回答，可以再问一次。", again: "再问一次", giveUp: "放弃这个对话",
    offline: "无法连接服务器，您说的话已保存，正在重试。", revoked: "这个链接已失效。",
    you: "您", system: "系统", waiting: "…", stopped: "（没有回答）",
  },
};
let texts = TEXTS.en;
let talk = null;

function call(method, path, body) {
  return fetch(`/api/v1/talking${path}`, {
    method,
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

function say(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}

function bubble(side, who, text) {
  const row = document.createElement("div");
  row.className = `bubble side${side}`;
  const said = document.createElement("div");
  said.className = "said";
  const sender = document.createElement("div");
  sender.className = "sender";
  sender.textContent = who;
  const line = document.createElement("p");
  line.dir = "auto";
  line.textContent = text;
  said.append(sender, line);
  row.append(said);
  byId("talk").append(row);
  row.scrollIntoView({ block: "nearest" });
  return line;
}

function only(...shown) {
  for (const id of ["say", "failed", "rest"]) byId(id).hidden = !shown.includes(id);
}

async function load() {
  let answer;
  try {
    answer = await call("POST", "");
  } catch {
    say(texts.offline);
    setTimeout(load, 2000);
    return;
  }
  if (!answer.ok) { only(); say(answer.status === 401 ? texts.revoked : (await answer.json()).detail); return; }
  const visit = await answer.json();
  texts = TEXTS[visit.language.split("-")[0]] ?? TEXTS.en;
  document.documentElement.lang = visit.language;
  document.title = `${visit.title} - dialeval`;
  byId("title").textContent = visit.title;
  byId("instructions").textContent = visit.instructions;
  byId("standing").textContent = texts.done(visit.done);
  for (const [id, text] of Object.entries({ send: texts.send, end: texts.end, again: texts.again, "give-up": texts.giveUp, next: texts.next, "failed-text": texts.failed })) byId(id).textContent = text;
  say("");
  talk = visit.talk;
  show();
}

function show() {
  byId("talk").replaceChildren();
  byId("left").textContent = talk ? texts.left(talk.left) : "";
  if (!talk) { rest(texts.none, false); return; }
  for (const turn of talk.turns) {
    bubble(1, texts.you, turn.said);
    if (turn.reply !== null) bubble(0, texts.system, turn.reply || texts.stopped);
  }
  const unanswered = talk.turns.at(-1)?.reply === null;
  if (!talk.open) rest(texts.ended, true);
  else if (unanswered) only("failed");
  else ask();
}

function ask() {
  only("say");
  const first = talk.turns.length === 0;
  byId("text-title").textContent = first ? texts.first : texts.more;
  byId("text").value = first ? talk.opening : "";
  byId("text").readOnly = first;
  byId("end").hidden = first;
  (first ? byId("send") : byId("text")).focus({ preventScroll: true });
}

function rest(title, more) {
  only("rest");
  byId("rest-title").textContent = title;
  byId("next").hidden = !more;
  if (more) byId("next").focus();
}

async function turn(number, text) {
  only();
  const reply = bubble(0, texts.system, texts.waiting);
  let outcome = "failed";
  try {
    const answer = await call("POST", `/${talk.id}/turns/${number}`, { text });
    if (answer.ok) outcome = await read(answer, reply);
    else say((await answer.json()).detail);
  } catch {
    say(texts.offline);
  }
  try {
    const fresh = await call("GET", `/${talk.id}`);
    if (fresh.ok) talk = await fresh.json();
  } catch { /* the page shows what it has */ }
  if (outcome === "done") say("");
  show();
}

// Events come as lines "data: {...}"; the text grows as it comes.
async function read(answer, line) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "failed";
    const lines = (waiting + value).split("\n");
    waiting = lines.pop();
    for (const one of lines.filter((each) => each.startsWith("data:"))) {
      const event = JSON.parse(one.slice(5));
      if (event.failed) return "failed";
      if (event.done) return "done";
      text += event.text;
      line.textContent = text;
      line.scrollIntoView({ block: "nearest" });
    }
  }
}

byId("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("text").value.trim();
  if (!text) return;
  const number = talk.turns.length;
  talk.turns.push({ said: text, reply: null });
  bubble(1, texts.you, text);
  turn(number, text);
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); byId("say").requestSubmit(); }
});
byId("again").addEventListener("click", () => turn(talk.turns.length - 1, talk.turns.at(-1).said));
async function end(failed) {
  await call("POST", `/${talk.id}/end`, { failed }).catch(() => say(texts.offline));
  await load();
}
byId("end").addEventListener("click", () => end(false));
byId("give-up").addEventListener("click", () => end(true));
byId("next").addEventListener("click", load);

load();
