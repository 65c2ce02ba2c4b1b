// Clicks on their way to the server. They are kept in the browser until the server has them, so
// a lost connection, a reload or a closed tab loses nothing; sent twice, they count once.
export class Outbox {
  constructor(name, send, changed) {
    this.name = `dialeval-outbox-${name}`;
    this.send = send;
    this.changed = changed;
    this.busy = null;
    this.wait = 500;
    addEventListener("online", () => this.flush());
    addEventListener("storage", (event) => { if (event.key === this.name) changed(); });
  }

  read() {
    try { return JSON.parse(localStorage.getItem(this.name) ?? "[]"); } catch { return []; }
  }

  write(entries) {
    localStorage.setItem(this.name, JSON.stringify(entries));
    this.changed();
  }

  // A newer entry for the same question takes the place of an older one.
  add(entry) {
    this.write([...this.read().filter((other) => other.slot !== entry.slot), entry]);
    this.flush();
  }

  remove(entry) {
    this.write(this.read().filter((other) => other.slot !== entry.slot || other.sequence !== entry.sequence));
  }

  // One at a time, in order; resolves when all is sent or the server cannot be reached.
  flush() {
    this.busy ??= this.#flush().finally(() => { this.busy = null; });
    return this.busy;
  }

  async #flush() {
    for (let entries = this.read(); entries.length; entries = this.read()) {
      const outcome = await this.send(entries[0]);
      if (outcome === "again") {
        this.changed();
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
