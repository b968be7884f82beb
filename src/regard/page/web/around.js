// Around frames with pages: each becomes as high as the page in it says. It may run several times on one page.
addEventListener("message", ({ source, data }) => {
  if (!Number.isFinite(data?.regardHeight)) return;
  for (const frame of document.querySelectorAll("iframe.regard-page")) {
    if (frame.contentWindow === source) frame.style.height = `${Math.min(Math.max(data.regardHeight, 100), 20000)}px`;
  }
});
