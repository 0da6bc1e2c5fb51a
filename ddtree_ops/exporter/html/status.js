"use strict";
// Keeps the page fresh by server-sent events. Without it the page still is whole: it reloads itself (see <noscript>).
(() => {
  const body = document.body, live = document.getElementById("live"), words = document.getElementById("live-words");
  const said = document.getElementById("said");
  const QUIET_MS = 16000, AGAIN_MS = 4000;
  let offset = Number(body.dataset.now) * 1000 - Date.now(), seen = Date.now(), source = null, mark = "", again = 0;

  const ago = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole < 60) return `${whole} s ago`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ago`;
    if (whole < 172800) return `${Math.floor(whole / 3600)} h ago`;
    return `${Math.floor(whole / 86400)} days ago`;
  };

  const made = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content;
  };

  // What has the focus keeps it: the link at the same place of the new content gets it.
  const replaceContent = (old, fresh) => {
    if (old.innerHTML === fresh.innerHTML) return;
    const held = old.contains(document.activeElement) ? [...old.querySelectorAll("a")].indexOf(document.activeElement) : -1;
    old.replaceChildren(...fresh.childNodes);
    if (held >= 0) (old.querySelectorAll("a")[held] || old.querySelector("a"))?.focus({ preventScroll: true });
  };

  const takeRow = (id, html, changes) => {
    const fresh = made(html).querySelector("tr"), old = document.getElementById(id);
    if (!old) {
      document.querySelector("#fleet tbody")?.append(fresh);
      changes.push(`${fresh.dataset.host}: ${fresh.dataset.word}`);
      return;
    }
    if (old.dataset.word !== fresh.dataset.word) changes.push(`${fresh.dataset.host}: ${fresh.dataset.word}`);
    if (old.className !== fresh.className) old.className = fresh.className;
    old.dataset.word = fresh.dataset.word;
    [...fresh.children].forEach((cell, index) => replaceContent(old.children[index], cell));
  };

  // Moves as few rows as it can: each that isn't in its place is put there, from the top.
  const takeOrder = (order) => {
    const table = document.querySelector("#fleet tbody");
    if (!table) return;
    const wanted = new Set(order), focused = document.activeElement;
    for (const row of [...table.children]) if (!wanted.has(row.id)) row.remove();
    let place = table.firstElementChild;
    for (const id of order) {
      const row = document.getElementById(id);
      if (!row) continue;
      if (row === place) place = place.nextElementSibling;
      else table.insertBefore(row, place);
    }
    if (table.contains(focused) && document.activeElement !== focused) focused.focus({ preventScroll: true });
    const none = document.getElementById("none");
    if (none) none.hidden = order.length > 0;
  };

  const takeNews = (news) => {
    const changes = [];
    for (const [id, html] of Object.entries(news.rows || {})) takeRow(id, html, changes);
    if (news.order) takeOrder(news.order);
    for (const [name, html] of Object.entries(news.parts || {})) {
      const old = document.getElementById(`part-${name}`);
      if (!old) continue;
      const fresh = document.createElement("div");
      fresh.append(made(html));
      replaceContent(old, fresh);
      old.hidden = !old.childElementCount;
    }
    if (news.say) changes.push(news.say);
    if (news.title) document.title = news.title;
    if (news.icon) document.getElementById("icon").href = news.icon;
    if (changes.length) said.textContent = changes.length > 3 ? `${changes.length} servers changed` : changes.join(". ");
  };

  const heard = (message) => {
    const news = JSON.parse(message.data);
    if (news.page !== body.dataset.version) return location.reload();
    mark = message.lastEventId;
    seen = Date.now();
    offset = news.now * 1000 - seen;
    if (message.type === "news") takeNews(news);
    tick();
  };

  const connect = () => {
    source?.close();
    const address = new URL(body.dataset.events, location.href);
    if (mark) address.searchParams.set("since", mark);
    source = new EventSource(address);
    source.addEventListener("news", heard);
    source.addEventListener("beat", heard);
    again = Date.now() + AGAIN_MS;
  };

  const tick = () => {
    const now = Date.now() + offset, quiet = Date.now() - seen;
    const lost = source?.readyState !== EventSource.OPEN && quiet > 1500 || quiet > QUIET_MS;
    const told = lost ? `not connected, last seen ${ago(quiet / 1000)}` : "live";
    if (words.textContent !== told) words.textContent = told;
    live.className = lost ? "live lost" : "live on";
    body.classList.toggle("lost", lost);
    for (const time of document.querySelectorAll("time[data-t]")) {
      const text = ago(now / 1000 - Number(time.dataset.t));
      if (time.textContent !== text) time.textContent = text;
    }
    if (Date.now() > again && (source.readyState === EventSource.CLOSED || quiet > QUIET_MS)) connect();
  };

  body.classList.add("js");
  connect();
  setInterval(tick, 1000);
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (shown) => { if (shown.persisted) connect(); });
})();
