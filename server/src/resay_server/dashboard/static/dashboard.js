// Keeps the list and the figures new while somebody looks. Everything works without it.

const live = document.getElementById("live");
if (live) follow(live);

function follow(place) {
  const pause = document.getElementById("pause");
  const state = document.getElementById("state");
  const news = document.getElementById("news");
  const parts = [
    { id: "list", url: place.dataset.list, every: Number(place.dataset.listMs), put: putList },
    { id: "figures", url: place.dataset.figures, every: Number(place.dataset.figuresMs), put: putFigures },
  ];
  const patience = 30_000;
  const quiet = 15_000;
  let paused = false;
  let announced = 0;
  let unsaid = { verdicts: 0, flagged: 0 };

  document.getElementById("controls").hidden = false;
  document.getElementById("refresh").hidden = true;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume" : "Pause";
    show();
    if (!paused) parts.forEach(again);
  });
  // What came while nobody looked is there as soon as somebody does.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused) parts.forEach(again);
  });
  for (const part of parts) {
    part.failures = 0;
    part.took = 0;
    plan(part);
  }
  show();

  function show() {
    const failing = parts.some((part) => part.failures > 0);
    state.textContent = paused ? "Paused" : failing ? "Cannot be read; trying again" : "Live";
    state.dataset.state = paused ? "paused" : failing ? "failing" : "live";
  }

  function plan(part) {
    clearTimeout(part.timer);
    // What takes the journal long is asked for less often.
    const every = Math.max(part.every, 20 * part.took);
    const wait = Math.min(every * 2 ** part.failures, Math.max(every, patience));
    part.timer = setTimeout(() => ask(part), wait);
  }

  function again(part) {
    clearTimeout(part.timer);
    ask(part);
  }

  async function ask(part) {
    if (paused || document.hidden || part.busy) return;
    part.busy = true;
    const began = performance.now();
    try {
      const headers = part.etag ? { "If-None-Match": part.etag } : {};
      const answer = await fetch(part.url, { headers, cache: "no-store" });
      if (answer.ok) {
        const fresh = parsed(await answer.text(), part.id);
        // Whoever paused it meanwhile wants to see what is there.
        if (fresh && !paused && part.put(fresh)) part.etag = answer.headers.get("ETag");
      } else if (answer.status !== 304) {
        throw new Error(answer.status);
      }
      part.failures = 0;
    } catch {
      part.failures += 1;
    }
    part.busy = false;
    part.took = performance.now() - began;
    say();
    show();
    plan(part);
  }

  function putList(fresh) {
    const list = document.getElementById("list");
    const rows = list.querySelector("tbody");
    const newer = fresh.querySelector("tbody");
    if (!rows || !newer) {
      if (list.contains(document.activeElement)) return false;
      count(newer ? [...newer.children] : []);
      list.replaceWith(fresh);
      return true;
    }
    count(merge(rows, newer));
    trim(rows);
    const paging = list.querySelector("nav");
    const pages = fresh.querySelector("nav");
    if (paging && pages) paging.querySelector("a").href = pages.querySelector("a").href;
    else if (pages) list.append(pages);
    return true;
  }

  // Only new rows are put in, so that nobody loses the place where they read or the focus.
  function merge(rows, newer) {
    const added = [];
    let next = rows.firstElementChild;
    for (const row of [...newer.children]) {
      const known = document.getElementById(row.id);
      if (known) {
        next = known.nextElementSibling;
        continue;
      }
      row.classList.add("new");
      rows.insertBefore(row, next);
      added.push(row);
    }
    return added;
  }

  function trim(rows) {
    const most = Number(rows.dataset.limit);
    while (rows.children.length > most && !rows.lastElementChild.contains(document.activeElement)) {
      rows.lastElementChild.remove();
    }
  }

  function putFigures(fresh) {
    const figures = document.getElementById("figures");
    if (figures.contains(document.activeElement)) return false;
    for (const opened of figures.querySelectorAll("details[open]")) {
      const same = fresh.querySelector(`#${opened.id}`);
      if (same) same.open = true;
    }
    figures.replaceWith(fresh);
    return true;
  }

  function count(rows) {
    unsaid.verdicts += rows.length;
    unsaid.flagged += rows.filter((row) => row.classList.contains("flagged-row")).length;
  }

  // Now and then, and together: whoever listens to the page does something else meanwhile.
  function say() {
    if (!unsaid.verdicts || Date.now() - announced < quiet) return;
    const verdicts = unsaid.verdicts === 1 ? "1 new verdict" : `${unsaid.verdicts} new verdicts`;
    news.textContent = unsaid.flagged ? `${verdicts}, ${unsaid.flagged} flagged` : verdicts;
    announced = Date.now();
    unsaid = { verdicts: 0, flagged: 0 };
  }
}

function parsed(text, id) {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content.getElementById(id);
}
