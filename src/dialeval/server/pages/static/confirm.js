// Asks before what cannot be undone, and says that long work is going on.
for (const form of document.querySelectorAll("form[data-confirm], form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.confirm && !confirm(form.dataset.confirm)) {
      event.preventDefault();
      return;
    }
    const button = form.querySelector("button");
    if (form.dataset.busy) button.textContent = form.dataset.busy;
    setTimeout(() => { button.disabled = true; });
  });
}
