"""Look and behaviour of the page: CSS for light and dark, and a script that shows values under the mouse."""

CSS = """
:root{color-scheme:light dark;--page:#f6f6f3;--card:#fdfdfc;--line:#e4e3dc;--axis:#c3c2b7;--text:#12120f;--soft:#55544f;
--faint:#87857e;--blue:#2a78d6;--yellow:#eda100;--red:#e34948;--green:#1baf7a;--violet:#4a3aa7;--orange:#eb6834;
--pink:#d5528f;--rest:#d3d2ca;--first:#2a78d6;--second:#eb6834;--good:#0b7a54;--bad:#c02b2a;
--shadow:0 1px 2px rgba(20,20,10,.05),0 6px 20px rgba(20,20,10,.04)}
@media(prefers-color-scheme:dark){:root{--page:#111110;--card:#1a1a18;--line:#2d2d2a;--axis:#45443f;--text:#f6f5f0;
--soft:#c3c2b7;--faint:#8b897f;--blue:#3987e5;--yellow:#c98500;--red:#e66767;--green:#199e70;--violet:#9085e9;
--orange:#d95926;--pink:#d46a9c;--rest:#45443f;--first:#4f97ec;--second:#e8743f;--good:#35c592;--bad:#f08080;
--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums;-webkit-font-smoothing:antialiased}
main{max-width:1180px;margin:0 auto;padding:44px 24px 64px}
header{margin-bottom:26px}
.brand{color:var(--faint);font-size:13px;letter-spacing:.04em}
h1{font-size:32px;line-height:1.2;letter-spacing:-.02em;margin:4px 0 8px;font-weight:650;overflow-wrap:anywhere}
h1 i{font-style:normal;color:var(--faint);font-weight:400}
h2{font-size:16px;margin:0 0 2px;font-weight:620;letter-spacing:-.005em}
p{margin:0;color:var(--soft);overflow-wrap:anywhere}
.card p{font-size:13.5px;margin-bottom:12px}
.card,.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;box-shadow:var(--shadow)}
.card{padding:20px 22px;margin-top:18px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:14px}
.tile{padding:15px 18px 14px}
.tile h3{margin:0;font-size:13px;font-weight:500;color:var(--soft)}
.tile b{display:block;font-size:27px;line-height:1.25;font-weight:640;letter-spacing:-.02em;white-space:nowrap}
.tile b small{font-size:14px;font-weight:450;color:var(--faint);letter-spacing:0;margin-left:4px}
.tile p{font-size:13px;color:var(--faint)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:0 18px}
.inner{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:14px 26px;
align-items:end}
h4{margin:8px 0 4px;font-size:13px;font-weight:560;color:var(--soft)}
svg.plot{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--faint);font-size:11.5px;font-family:inherit}
.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--axis);stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.area{opacity:.92}.cross{stroke:var(--faint);stroke-width:1;stroke-dasharray:3 3}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 8px;padding:0;
font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;vertical-align:-1px}
.map{display:block;width:100%;max-height:560px;object-fit:contain;object-position:left top;image-rendering:pixelated;
border-radius:4px}
.ramp{display:flex;align-items:center;gap:10px;font-size:12.5px;color:var(--faint);margin-top:10px}
.ramp i{flex:0 0 150px;height:9px;border-radius:5px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:right;padding:5px 0 5px 18px;border-bottom:1px solid var(--line);white-space:nowrap;font-weight:400}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;overflow-wrap:anywhere;min-width:8em}
thead th,tbody th[colspan]{color:var(--faint);font-size:12.5px}
tbody th[colspan]{padding-top:16px;font-weight:600;color:var(--soft)}
td.unit{color:var(--faint);text-align:left;padding-left:8px}
tr:last-child td{border-bottom:0}
.good{color:var(--good)}.bad{color:var(--bad)}.same{color:var(--faint)}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--text);color:var(--page);border-radius:8px;
padding:7px 11px;font-size:12.5px;line-height:1.45;white-space:pre;box-shadow:0 6px 22px rgba(0,0,0,.22)}
footer{margin-top:28px;color:var(--faint);font-size:12.5px}
@media print{body{background:#fff}.card,.tile{break-inside:avoid;box-shadow:none}}
"""

SCRIPT = """
(function(){
var tip=document.createElement("div");tip.id="tip";tip.hidden=true;document.body.appendChild(tip);
document.querySelectorAll("svg.plot").forEach(function(svg){
  var tips=svg.dataset.tips?JSON.parse(svg.dataset.tips):[];if(!tips.length)return;
  var cross=svg.querySelector(".cross"),size=svg.viewBox.baseVal;
  svg.addEventListener("mousemove",function(event){
    var box=svg.getBoundingClientRect(),x=(event.clientX-box.left)*size.width/box.width,best=tips[0];
    tips.forEach(function(one){if(Math.abs(one[0]-x)<Math.abs(best[0]-x))best=one;});
    cross.setAttribute("x1",best[0]);cross.setAttribute("x2",best[0]);cross.setAttribute("visibility","visible");
    tip.textContent=best[1].join("\\n");tip.hidden=false;
    var right=event.clientX+16+tip.offsetWidth>innerWidth-8;
    tip.style.left=(right?event.clientX-16-tip.offsetWidth:event.clientX+16)+"px";
    tip.style.top=Math.max(8,Math.min(event.clientY-12,innerHeight-tip.offsetHeight-8))+"px";
  });
  svg.addEventListener("mouseleave",function(){tip.hidden=true;cross.setAttribute("visibility","hidden");});
});
})();
"""
