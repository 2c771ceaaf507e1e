// Labels claims by the keys 1, 2 and 3. Everything works without it.

const form = document.getElementById("label-form");
if (form) labelByKeys(form);

function labelByKeys(form) {
  const claims = [...form.querySelectorAll("fieldset")];
  let current = 0;
  mark();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.matches("input:not([type=radio]), textarea, select")) return;
    const focused = claims.findIndex((claim) => claim.contains(event.target));
    if (focused >= 0) current = focused;
    const choice = claims[current]?.querySelectorAll("input")[Number(event.key) - 1];
    if (!choice || !/^[123]$/.test(event.key)) return;
    event.preventDefault();
    choice.checked = true;
    const next = claims.findIndex((claim) => !claim.querySelector(":checked"));
    if (next < 0) {
      form.requestSubmit();
      return;
    }
    current = next;
    document.activeElement.blur();
    mark();
  });

  function mark() {
    claims.forEach((claim, index) => claim.classList.toggle("current", index === current));
    claims[current].scrollIntoView({ block: "nearest" });
  }
}
