// Clicks on their way to the server. They are kept in the browser until the server has them, so
// a lost connection, a reload or a closed tab loses nothing; sent twice, they count once.
// Each question has a place of its own in the browser's storage, so two tabs never overwrite each
// other's; what this tab clicked is in its memory too, should the storage be full or forbidden.
export class Outbox {
  constructor(name, send, changed) {
    this.name = `dialeval-outbox-${name} `;
    this.send = send;
    this.changed = changed;
    this.busy = null;
    this.wait = 500;
    this.own = new Map();
    addEventListener("online", () => this.flush());
    addEventListener("storage", (event) => { if (event.key?.startsWith(this.name)) changed(); });
  }

  // All that waits, the oldest first.
  read() {
    const entries = new Map(this.own);
    for (const key of this.#keys()) {
      const entry = this.#stored(key);
      const known = entry && entries.get(entry.slot);
      if (entry && !(known?.sequence > entry.sequence)) entries.set(entry.slot, entry);
    }
    return [...entries.values()].sort((one, other) => one.sequence - other.sequence);
  }

  #keys() {
    try { return Object.keys(localStorage).filter((key) => key.startsWith(this.name)); } catch { return []; }
  }

  #stored(key) {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  }

  // A newer entry for the same question takes the place of an older one.
  add(entry) {
    this.own.set(entry.slot, entry);
    try { localStorage.setItem(this.name + entry.slot, JSON.stringify(entry)); } catch { /* in memory */ }
    this.flush();
    this.changed();
  }

  remove({ slot, sequence }) {
    if (this.own.get(slot)?.sequence <= sequence) this.own.delete(slot);
    const key = this.name + slot;
    if (this.#stored(key)?.sequence <= sequence) localStorage.removeItem(key);
    this.changed();
  }

  // One at a time, in order; resolves when all is sent or the server cannot be reached.
  flush() {
    this.busy ??= this.#flush().finally(() => { this.busy = null; this.changed(); });
    return this.busy;
  }

  async #flush() {
    for (let entries = this.read(); entries.length; entries = this.read()) {
      const outcome = await this.send(entries[0]);
      if (outcome === "again") {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.flush(), this.wait);
        this.wait = Math.min(this.wait * 2, 15000);
        return;
      }
      this.wait = 500;
      this.remove(entries[0]);
    }
  }
}
