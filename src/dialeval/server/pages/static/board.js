// Keeps a leaderboard up to date: asks every few seconds, and gets an answer only when it changed.
const EVERY = 4000;
const board = document.getElementById("board");
const live = document.getElementById("live");
const address = new URL(location.href);
address.searchParams.set("part", "true");
address.searchParams.delete("note");
let tag = "";

function rows() {
  const found = new Map();
  for (const row of board.querySelectorAll("tr[data-run]")) found.set(row.dataset.run, row.textContent);
  return found;
}

async function update() {
  const headers = tag ? { "If-None-Match": tag } : {};
  const answer = await fetch(address, { headers, cache: "no-store" });
  if (answer.status === 304) return;
  if (!answer.ok) throw new Error(answer.statusText);
  const html = await answer.text();
  const first = tag === "";
  tag = answer.headers.get("ETag") ?? "";
  if (first || board.contains(document.activeElement)) {
    // The page is fresh, or somebody is on one of its links: look again later.
    if (!first) tag = "";
    return;
  }
  const before = rows();
  board.innerHTML = html;
  for (const row of board.querySelectorAll("tr[data-run]")) {
    if (before.get(row.dataset.run) !== row.textContent) row.classList.add("changed");
  }
}

async function tick() {
  if (!document.hidden) {
    try {
      await update();
      live.textContent = "live";
      live.classList.remove("off");
    } catch {
      live.textContent = "waiting for the server";
      live.classList.add("off");
    }
    live.hidden = false;
  }
  setTimeout(tick, EVERY);
}

tick();
